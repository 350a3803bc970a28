// Two requests side by side: what each of them sent, struck or left out.

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { count, counted, money, when } from "./format.js";
import { Latest } from "./latest.js";

const PAUSE_MS = 150;
const ROWS = 300;
const STATES = { sent: "sent", struck: "struck", absent: "not there" };

class Compare extends HTMLElement {
  #context = null;
  #loaded = "";
  #asked = "";
  #latest = new Latest();
  #timer = 0;
  #offers = null;
  #shown = ROWS;

  async show(context) {
    this.#context = context;
    const key = JSON.stringify([context.session.id, context.params.conversation]);
    if (key !== this.#loaded) {
      this.#loaded = key;
      this.#asked = "";
      if (!context.session.requests) {
        fill(this, h("p", { class: "quiet" }, "No request was made in this conversation yet."));
        return;
      }
      try {
        this.#offers ??= await get("policies");
      } catch (problem) {
        fill(this, h("p", { class: "problem", role: "alert" }, problem.message));
        return;
      }
      this.#build();
    }
    this.#ask();
  }

  grown({ requests }) {
    for (const input of this.querySelectorAll("input")) input.max = requests - 1;
  }

  leave() {
    clearTimeout(this.#timer);
    this.#latest.stop();
    this.#loaded = "";
  }

  /** What is compared: from the address, else the last request and the one before it. */
  #chosen() {
    const { params, session } = this.#context;
    const last = Math.max(0, session.requests - 1);
    const number = (text, otherwise) => (/^\d+$/.test(text ?? "") ? Math.min(Number(text), last) : otherwise);
    const policy = params.policy ?? "auto";
    return { a: number(params.a, Math.max(0, last - 1)), b: number(params.b, last), policy_a: params.policy_a ?? policy, policy_b: params.policy_b ?? policy };
  }

  #build() {
    this.answer = h("div", { class: "answer" });
    const swap = () => {
      const { a, b, policy_a, policy_b } = this.#chosen();
      this.#change({ a: b, b: a, policy_a: policy_b, policy_b: policy_a });
      this.#build();
    };
    fill(this, h("form", { class: "sides", "aria-label": "What is compared", onsubmit: (event) => event.preventDefault() }, this.#side("a"), h("button", { type: "button", class: "swap", "aria-label": "Swap A and B", onclick: swap }, "⇄"), this.#side("b")), this.answer);
  }

  #side(side) {
    const chosen = this.#chosen();
    const name = side.toUpperCase();
    const common = { min: 0, max: Math.max(0, this.#context.session.requests - 1), value: chosen[side] };
    const number = h("input", { ...common, type: "number", "aria-label": `Request of ${name}`, oninput: () => set(number, slider) });
    const slider = h("input", { ...common, type: "range", "aria-label": `Request of ${name}, as a slider`, oninput: () => set(slider, number) });
    const set = (from, to) => {
      if (!from.validity.valid || from.value === "") return;
      to.value = from.value;
      this.#change({ [side]: Number(from.value) });
    };
    const policy = h("select", { "aria-label": `Policy of ${name}`, onchange: () => this.#change({ [`policy_${side}`]: policy.value }) }, this.#policies(chosen[`policy_${side}`]));
    return h("div", { class: "side" }, h("span", { class: `tag side-${side}`, "aria-hidden": "true" }, name), h("span", {}, "Request"), number, policy, slider);
  }

  #policies(chosen) {
    const { presets } = this.#offers;
    const names = [["auto", this.#context.session.is_log ? "as it was sent" : "with Redline"], ["sent", "as it was sent"], ...presets.map(({ name }) => [name, name])];
    const own = chosen.startsWith("{") ? [[chosen, "a policy of my own"]] : [];
    const offered = this.#context.session.is_log ? names.filter(([value]) => value !== "sent" || chosen === "sent") : names;
    return [...offered, ...own].map(([value, text]) => h("option", { value, selected: value === chosen }, text));
  }

  #change(changed) {
    const chosen = { ...this.#chosen(), ...changed };
    this.#context = { ...this.#context, params: { ...this.#context.params, ...chosen, a: String(chosen.a), b: String(chosen.b) } };
    this.answer.setAttribute("aria-busy", "true");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#context.go("compare", this.#context.params, { replace: true }), PAUSE_MS);
  }

  async #ask() {
    const { session, query } = this.#context;
    const chosen = this.#chosen();
    const key = JSON.stringify(chosen);
    if (key === this.#asked) return;
    this.#asked = key;
    this.#shown = ROWS;
    this.answer.setAttribute("aria-busy", "true");
    try {
      const found = await this.#latest.ask((signal) => get(`sessions/${session.id}/compare`, { conversation: query().conversation, ...chosen }, { signal }));
      if (found) this.#place(found);
    } catch (problem) {
      fill(this.answer, h("p", { class: "problem", role: "alert" }, problem.message));
    }
    this.answer.removeAttribute("aria-busy");
  }

  #place(found) {
    const rest = found.rows.length - this.#shown;
    const more = () => {
      this.#shown += ROWS;
      this.#place(found);
    };
    fill(
      this.answer,
      h("p", { class: "said", role: "status" }, ...firstDifference(found)),
      totals(found),
      h(
        "table",
        { class: "rows" },
        h("caption", {}, "Messages in the order sent; equal ones are folded"),
        h("thead", {}, h("tr", {}, ["Message", "What it says", "A", "B"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, found.rows.slice(0, this.#shown).map((row) => this.#row(row))),
      ),
      rest > 0 && h("button", { type: "button", onclick: more }, `Show ${counted(Math.min(rest, ROWS), "more row")} of ${count(rest)}`),
    );
  }

  #row(row) {
    const go = (index) => () => this.#context.go("conversation", { ...this.#context.query(), index });
    if (row.count !== undefined) {
      const says = `${counted(row.count, "message")} the same, ${counted(row.tokens, "token")}`;
      return h("tr", { class: "folded" }, h("td", { colspan: 4 }, h("button", { type: "button", class: "link", onclick: go(row.from) }, says)));
    }
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: go(row.index) }, count(row.index))),
      h("td", { class: "says" }, h("span", { class: "role" }, row.role), " ", h("bdi", {}, row.says)),
      state("a", row.a, row.tokens_a),
      state("b", row.b, row.tokens_b),
    );
  }
}

function state(side, what, tokens) {
  const words = [h("span", { class: "word" }, STATES[what] ?? what), what !== "absent" && h("span", { class: "number" }, count(tokens))];
  return h("td", { class: `state ${what}` }, h("span", { class: `tag side-${side}`, "aria-hidden": "true" }, side.toUpperCase()), words);
}

function firstDifference({ rows, same_prefix_tokens: tokens }) {
  const first = rows.find((row) => row.count === undefined);
  if (!first) return [h("strong", {}, "Both are the same"), `, ${counted(tokens, "token")}.`];
  return [h("strong", {}, `First difference at message ${count(first.index)}`), `: the cache is good up to ${counted(tokens, "token")}.`];
}

function totals({ a, b }) {
  const lines = [
    ["Sent", "sent_tokens", count],
    ["Struck", "struck_tokens", count],
    ["Messages", "messages", count],
    ["Read from cache", "read_tokens", count],
    ["Cost", "cost_usd", money],
  ];
  const signed = (value, format) => (value === 0 ? "0" : `${value > 0 ? "+" : "−"}${format(Math.abs(value))}`);
  const difference = (one, other, format) => (Number.isFinite(one) && Number.isFinite(other) ? signed(other - one, format) : "–");
  const side = (letter, request) => [h("span", { class: `tag side-${letter}` }, letter.toUpperCase()), ` request ${count(request.number)} `, h("small", {}, when(request.time_ms), request.is_cold && " · cold")];
  return h(
    "table",
    { class: "totals" },
    h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col" }, side("a", a)), h("th", { scope: "col" }, side("b", b)), h("th", { scope: "col" }, "Difference"))),
    h("tbody", {}, lines.map(([name, key, format]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, format(a[key])), h("td", { class: "number" }, format(b[key])), h("td", { class: "number" }, difference(a[key], b[key], format))))),
  );
}

customElements.define("redline-compare", Compare);
