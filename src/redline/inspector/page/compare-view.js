// Two requests side by side: what each of them sent, struck or did not have.

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { DrawnView, button, link, table } from "./drawn-view.js";
import { count, counted, money, when } from "./format.js";
import { line } from "./said.js";

const ROWS = 300;
const SIDES = ["a", "b"];
const TOTALS = [
  ["Sent", "sent_tokens", count],
  ["Struck", "struck_tokens", count],
  ["Messages", "messages", count],
  ["Read from cache", "read_tokens", count],
  ["Cost", "cost_usd", money],
];

class CompareView extends DrawnView {
  /** From the address, else the last request and the one before it. */
  wanted() {
    const { params, session } = this.context;
    const last = session.requests - 1;
    const number = (text, otherwise) => (/^\d+$/.test(text) ? Math.min(Number(text), last) : Math.max(0, otherwise));
    const policy = params.policy ?? "auto";
    const policies = { policy_a: params.policy_a ?? policy, policy_b: params.policy_b ?? policy };
    return { conversation: params.conversation, a: number(params.a, last - 1), b: number(params.b, last), ...policies };
  }

  async ask(path, options) {
    if (!this.context.session.requests) return null;
    this.policies ??= await get("policies");
    return get(`${path}/compare`, this.wanted(), options);
  }

  grown({ session }) {
    this.context = { ...this.context, session };
    for (const input of this.querySelectorAll("input")) input.max = session.requests - 1;
  }

  fail(problem) {
    if (this.answer) fill(this.answer, h("p", { class: "problem", role: "alert" }, problem.message));
    else super.fail(problem);
  }

  place(found, most = ROWS) {
    if (!found) {
      this.say("No request was made in this conversation yet.");
      return;
    }
    if (!this.answer) this.#build();
    const rest = found.rows.length - most;
    fill(
      this.answer,
      h("p", { class: "said", role: "status" }, firstDifference(found)),
      totals(found),
      table("differences", ["Message", "What it says", "A", "B"], found.rows.slice(0, most).map((row) => this.#row(row))),
      rest > 0 && button(`${counted(rest, "more row")}…`, () => this.place(found, most + ROWS)),
    );
  }

  #build() {
    this.answer = h("div");
    const swap = () => {
      const { a, b, policy_a, policy_b } = this.wanted();
      this.change({ a: String(b), b: String(a), policy_a: policy_b, policy_b: policy_a });
      fill(form, fields());
      form.children[1].focus();
    };
    const fields = () => [this.#side("a"), button("⇄", swap, { "aria-label": "Swap A and B" }), this.#side("b")];
    const form = h("form", { class: "versus", onsubmit: (event) => event.preventDefault() }, fields());
    fill(this, form, this.answer);
  }

  #side(side) {
    const { [side]: value, [`policy_${side}`]: policy } = this.wanted();
    const common = { min: 0, max: this.context.session.requests - 1, value };
    const set = (from, to) => {
      if (!from.value || !from.validity.valid) return;
      to.value = from.value;
      this.change({ [side]: from.value });
    };
    const number = h("input", { ...common, type: "number", "aria-label": `Request ${side}`, oninput: () => set(number, slider) });
    const slider = h("input", { ...common, type: "range", "aria-label": `Request ${side}, as a slider`, oninput: () => set(slider, number) });
    const select = h("select", { "aria-label": `Policy ${side}`, onchange: () => this.change({ [`policy_${side}`]: select.value }) }, this.#offers(policy));
    return h("div", { class: "side" }, tag(side), number, select, slider);
  }

  #offers(chosen) {
    const names = new Map([["auto", this.context.session.is_log ? "as it was sent" : "with Redline"], ["sent", "as it was sent"]]);
    if (this.context.session.is_log) names.delete("sent");
    for (const { name } of this.policies.presets) names.set(name, name);
    if (!names.has(chosen)) names.set(chosen, chosen.startsWith("{") ? "my own policy" : chosen);
    return [...names].map(([value, text]) => h("option", { value, selected: value === chosen }, text));
  }

  #row(row) {
    const go = (index, text) => link(text, () => this.open({ index }));
    if (row.count !== undefined) {
      const says = `${counted(row.count, "message")} the same, ${counted(row.tokens, "token")}`;
      return [h("td", { colspan: 4, class: "same" }, go(row.from, says))];
    }
    const cells = SIDES.map((side) => {
      const state = row[side];
      return h("td", { class: `state is-${state}` }, tag(side), h("span", {}, state), state !== "absent" && h("span", { class: "number" }, count(row[`tokens_${side}`])));
    });
    return [go(row.index, count(row.index)), h("td", { class: "text" }, h("span", { class: "quiet" }, row.role, " "), h("bdi", {}, line(row.says))), ...cells];
  }
}

function tag(side) {
  return h("span", { class: `tag side-${side}` }, side.toUpperCase());
}

function firstDifference({ rows, same_prefix_tokens: tokens }) {
  const first = rows.find((row) => row.count === undefined);
  if (!first) return [h("strong", {}, "Both are the same"), `: ${counted(tokens, "token")}.`];
  return [h("strong", {}, `First difference at message ${count(first.index)}`), `: the cache is good up to ${counted(tokens, "token")}.`];
}

function totals({ a, b }) {
  const number = (text) => h("td", { class: "number" }, text);
  const heads = [a, b].map((request, at) => [tag(SIDES[at]), ` request ${count(request.number)} `, h("small", {}, when(request.time_ms), request.is_cold && ", cold")]);
  const rows = TOTALS.map(([name, key, format]) => {
    const difference = a[key] === null || b[key] === null ? null : b[key] - a[key];
    const sign = difference > 0 ? "+" : difference < 0 ? "−" : "";
    return [name, number(format(a[key])), number(format(b[key])), number(sign + format(difference === null ? null : Math.abs(difference)))];
  });
  return table("totals", ["Totals", ...heads, "Difference"], rows);
}

customElements.define("redline-compare", CompareView);
