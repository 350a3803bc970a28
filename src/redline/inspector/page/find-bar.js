// Search and filters of a conversation, with the hits and the way through them.
import { fill, h } from "./dom.js";
import { checkbox, flag } from "./fields.js";
import { count, counted } from "./format.js";
import { indicesOf } from "./message-store.js";
import { line, said } from "./said.js";

const KINDS = { "": "All kinds", text: "Text", reasoning: "Reasoning", call: "Calls", result: "Results", media: "Images" };

/** Calls `onfilter({text, kind, tool, struck, error})` and `onhit(index, at)`. */
export class FindBar extends HTMLElement {
  #hits = [];
  #current = -1;

  connectedCallback() {
    if (this.form) return;
    const changed = () => this.onfilter(this.#chosen());
    this.input = h("input", { type: "search", placeholder: "Search", "aria-label": "Search in this conversation", maxlength: 300, oninput: () => this.#typed() });
    this.kind = h("select", { "aria-label": "Kind", onchange: changed }, Object.entries(KINDS).map(([value, name]) => h("option", { value }, name)));
    this.tool = h("select", { "aria-label": "Tool", onchange: changed });
    this.struck = checkbox("Struck", changed);
    this.error = checkbox("Errors", changed);
    this.found = h("output", { class: "found", "aria-live": "polite" });
    this.list = h("ol");
    this.hits = h("details", { class: "hits" }, h("summary", {}, "List"), this.list);
    const move = (by, label, sign) => h("button", { type: "button", class: "quiet step", "aria-label": label, onclick: () => this.move(by) }, sign);
    this.moves = h("span", { class: "moves", hidden: true }, move(-1, "Hit before", "↑"), move(1, "Next hit", "↓"), this.hits);
    const filters = h("div", { class: "filters", id: "filters" }, this.kind, this.tool, this.struck.label, this.error.label);
    const fold = h("button", { type: "button", class: "quiet unfold", "aria-expanded": "false", "aria-controls": "filters" }, "Filter");
    fold.addEventListener("click", () => fold.setAttribute("aria-expanded", String(filters.classList.toggle("open"))));
    this.form = h("form", { role: "search", onsubmit: (event) => this.#submitted(event) }, this.input, this.found, this.moves, fold, filters);
    this.append(this.form);
  }

  show({ text = "", kind = "", tool = "", struck = "", error = "" }, tools) {
    if (document.activeElement !== this.input) this.input.value = text;
    const names = [...new Set([...tools.map(({ name }) => name), ...(tool ? [tool] : [])])];
    fill(this.tool, h("option", { value: "" }, "All tools"), names.map((name) => h("option", { value: name }, line(name, 40))));
    this.tool.hidden = !names.length;
    this.kind.value = kind;
    this.tool.value = tool;
    this.struck.input.checked = Boolean(struck);
    this.error.input.checked = Boolean(error);
    if (!text && !kind && !tool && !struck && !error) this.results(null);
  }

  /** `hits` are indices of messages that hold the words, `first` their snippets; null where nothing is searched. */
  results(found, { isSearch = false } = {}) {
    this.#hits = found && isSearch ? indicesOf(found.runs) : [];
    this.#current = -1;
    this.first = found?.first ?? [];
    this.moves.hidden = !this.#hits.length;
    fill(this.found, found ? (found.count ? counted(found.count, "message") : "Nothing found") : "");
    const go = (hit) => this.#go(this.#hits.indexOf(hit.index), hit.at);
    fill(this.list, this.first.map((hit) => h("li", {}, h("button", { type: "button", onclick: () => go(hit) }, h("span", { class: "index" }, `#${hit.index}`), snippet(hit)))));
  }

  /** To the next hit (1) or the one before (-1), seen from a message. */
  move(by, from = null) {
    if (!this.#hits.length) return;
    let next = this.#current + by;
    if (this.#current < 0) {
      next = this.#hits.findIndex((index) => index >= (from ?? 0));
      if (next < 0) next = 0;
    }
    this.#go((next + this.#hits.length) % this.#hits.length);
  }

  #go(place, at = null) {
    this.#current = place;
    this.hits.open = false;
    const index = this.#hits[place];
    fill(this.found, `${count(place + 1)} of ${counted(this.#hits.length, "message")}`);
    this.onhit(index, at ?? this.first.find((hit) => hit.index === index)?.at);
  }

  #typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.onfilter(this.#chosen()), 200);
  }

  #submitted(event) {
    event.preventDefault();
    this.move(1);
  }

  #chosen() {
    return { text: this.input.value || null, kind: this.kind.value || null, tool: this.tool.value || null, struck: flag(this.struck), error: flag(this.error) };
  }
}

function snippet({ before, match, after }) {
  return h("span", { class: "snippet" }, said(before.replace(/\s+/g, " ")), h("mark", {}, said(match)), said(after.replace(/\s+/g, " ")));
}

customElements.define("redline-find-bar", FindBar);
