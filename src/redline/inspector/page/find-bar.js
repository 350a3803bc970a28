// Search and filters of a conversation, with the hits and the way through them.
import { button, fill, h } from "./dom.js";
import { checkbox, choose, chosen, found, offer, search, select } from "./fields.js";
import { count, counted } from "./format.js";
import { indicesOf } from "./message-store.js";
import { line, said } from "./said.js";

const KINDS = { "": "All kinds", text: "Text", reasoning: "Reasoning", call: "Calls", result: "Results", media: "Images" };

class FindBar extends HTMLElement {
  indices = [];
  timer = 0;

  connectedCallback() {
    this.input = search("Search in this conversation", "Search");
    this.kind = fill(select("kind", "Kind"), Object.entries(KINDS).map(([value, name]) => h("option", { value }, name)));
    this.tool = select("tool", "Tool");
    this.found = found();
    this.snippets = h("ol");
    this.hits = h("details.hits", h("summary", "List"), this.snippets);
    const move = (by, label, sign) => button(sign, () => this.move(by), { class: "quiet step", "aria-label": label });
    this.moves = h("span.moves", move(-1, "Hit before", "↑"), move(1, "Next hit", "↓"), this.hits);
    this.moves.hidden = true; // until there are hits to move to
    const filters = h("div.filters", this.kind, this.tool, checkbox("struck", "Struck"), checkbox("folded", "Folded"), checkbox("error", "Errors"));
    const fold = button("Filter", () => (fold.ariaExpanded = filters.classList.toggle("open")), { class: "quiet unfold", "aria-expanded": "false" });
    const submit = (event) => {
      event.preventDefault();
      this.isAsked = this.timer > 0;
      if (this.isAsked) this.filter();
      else this.move(1);
    };
    this.form = h("form", { role: "search", oninput: (event) => this.typed(event), onsubmit: submit }, this.input, this.found, this.moves, fold, filters);
    this.append(this.form);
  }

  show(params, tools) {
    offer(this.tool, "All tools", [...tools.map(({ name }) => name), params.tool]);
    choose(this.form, params);
  }

  /** `hits` are what holds the words, `passed` what passes the filters; null where nothing is searched or filtered. */
  results(hits, passed) {
    this.indices = indicesOf(hits?.runs ?? []);
    this.current = -1;
    this.first = hits?.first ?? [];
    this.moves.hidden = !this.indices.length;
    const number = (hits ?? passed)?.count;
    fill(this.found, number === undefined ? "" : number ? counted(number, "message") : "Nothing found");
    const row = (hit) => h("li", button([h("span.index", `#${hit.index}`), snippet(hit)], () => this.go(this.indices.indexOf(hit.index), hit.at)));
    fill(this.snippets, this.first.map(row));
    if (this.isAsked) this.move(1); // Enter came before what was typed was searched for
    this.isAsked = false;
  }

  move(by, from = 0) {
    const { length } = this.indices;
    const first = Math.max(0, this.indices.findIndex((index) => index >= from));
    if (length) this.go(this.current < 0 ? first : (this.current + by + length) % length);
  }

  go(place, at) {
    this.current = place;
    this.hits.open = false;
    const index = this.indices[place];
    fill(this.found, `${count(place + 1)} of ${counted(this.indices.length, "message")}`);
    this.onhit(index, at ?? this.first.find((hit) => hit.index === index)?.at);
  }

  typed({ target }) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.filter(), target === this.input ? 200 : 0);
  }

  filter() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.onfilter(chosen(this.form));
  }
}

function snippet({ before, match, after }) {
  return h("span.snippet", line(before), " ", h("mark", said(match)), line(after));
}

customElements.define("redline-find-bar", FindBar);
