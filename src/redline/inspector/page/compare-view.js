// Two requests side by side: what each of them sent, struck or did not have.
import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { DrawnView, button, link, strong, table } from "./drawn-view.js";
import { count, counted, money, when } from "./format.js";
import { line } from "./said.js";

const ROWS = 300;
const TOTALS = [
  ["Sent", "sent_tokens", count],
  ["Struck", "struck_tokens", count],
  ["Messages", "messages", count],
  ["Read from cache", "read_tokens", count],
  ["Cost", "cost_usd", money],
];

class CompareView extends DrawnView {
  answer = h("div");
  sides = ["a", "b"].map((side) => this.#side(side));

  /** From the address, else the last request and the one before it. */
  wanted() {
    const { params, session } = this.context;
    const last = session.requests - 1;
    const { conversation, a = Math.max(0, last - 1), b = last, policy = "auto", policy_a = policy, policy_b = policy } = params;
    return { conversation, a: Math.min(a, last), b: Math.min(b, last), policy_a, policy_b };
  }

  async ask(path, options) {
    if (!this.context.session.requests) return null;
    this.policies ??= (await get("policies")).presets;
    return get(`${path}/compare`, this.wanted(), options);
  }

  grown({ session }) {
    this.context.session = session;
    this.#fillIn();
  }

  change(params) {
    super.change(params);
    this.#fillIn();
  }

  place(found, most = ROWS) {
    if (!found) return this.say("No request was made in this conversation yet.");
    const swap = () => {
      const { a, b, policy_a, policy_b } = this.wanted();
      this.change({ a: b, b: a, policy_a: policy_b, policy_b: policy_a });
    };
    if (!this.answer.isConnected) {
      const [a, b] = this.sides.map(({ element }) => element);
      fill(this, h("div.versus", a, button("⇄", swap, { "aria-label": "Swap A and B" }), b), this.said, this.answer);
    }
    this.#fillIn();
    fill(this.said, firstDifference(found));
    const rest = found.rows.length - most;
    const rows = found.rows.slice(0, most).map((row) => this.#row(row));
    const more = rest > 0 && button(`${counted(rest, "more row")}…`, () => this.place(found, most + ROWS));
    fill(this.answer, totals(found), table("differences", ["Message", "What it says", "A", "B"], rows), more);
  }

  #side(side) {
    const oninput = ({ target }) => target.value && target.validity.valid && this.change({ [side]: target.value });
    const input = (type) => h("input", { type, min: 0, "aria-label": `Request ${side}, as a ${type}`, oninput });
    const onchange = () => this.change({ [`policy_${side}`]: select.value });
    const [number, slider, select] = [input("number"), input("range"), h("select", { "aria-label": `Policy ${side}`, onchange })];
    return { side, inputs: [number, slider], select, element: h("div.side", tag(side), number, select, slider) };
  }

  /** What is chosen, in the fields. */
  #fillIn() {
    const { requests, is_log: isLog } = this.context.session;
    const wanted = this.wanted();
    for (const { side, inputs, select } of this.sides) {
      for (const input of inputs) Object.assign(input, { max: requests - 1, value: wanted[side] });
      const chosen = wanted[`policy_${side}`];
      const names = { [chosen]: chosen.startsWith("{") ? "my own policy" : chosen, auto: "with Redline", sent: "as it was sent" };
      for (const { name } of this.policies) names[name] = name;
      if (isLog) names.auto = names.sent;
      fill(select, Object.entries(names).map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
    }
  }

  #row(row) {
    const go = (index, text) => link(text, () => this.open({ index }));
    if (row.count !== undefined) {
      const says = `${counted(row.count, "message")} the same, ${counted(row.tokens, "token")}`;
      return [h("td", { colspan: 4, class: "same" }, go(row.from, says))];
    }
    const state = (side) => {
      const tokens = row[side] !== "absent" && h("span.number", count(row[`tokens_${side}`]));
      return h(`td.state.is-${row[side]}`, tag(side), h("span", row[side]), tokens);
    };
    const says = h("td.text", h("span.quiet", row.role, " "), h("bdi", line(row.says)));
    return [go(row.index, count(row.index)), says, state("a"), state("b")];
  }
}

function tag(side) {
  return h(`span.tag.side-${side}`, side.toUpperCase());
}

function firstDifference({ rows, same_prefix_tokens: tokens }) {
  const first = rows.find((row) => row.count === undefined);
  if (!first) return [strong("Both are the same"), `: ${counted(tokens, "token")}.`];
  return [strong(`First difference at message ${count(first.index)}`), `: the cache is good up to ${counted(tokens, "token")}.`];
}

function totals({ a, b }) {
  const number = (text) => h("td.number", text);
  const head = (side, { number: request, time_ms: time, is_cold: isCold }) => {
    return [tag(side), ` request ${count(request)} `, h("small", when(time), isCold && ", cold")];
  };
  const rows = TOTALS.map(([name, key, format]) => {
    const more = b[key] - a[key];
    const isKnown = a[key] !== null && b[key] !== null;
    const difference = isKnown ? (more > 0 ? "+" : more < 0 ? "−" : "") + format(Math.abs(more)) : "–";
    return [name, number(format(a[key])), number(format(b[key])), number(difference)];
  });
  return table("totals", ["Totals", head("a", a), head("b", b), "Difference"], rows);
}

customElements.define("redline-compare", CompareView);
