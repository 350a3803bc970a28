// Two requests side by side: what each of them sent, struck or did not have.
import { DrawnView, button, count, counted, fill, get, h, line, link, money, strong, table, when } from "./drawn-view.js";

const ROWS = 300;
const TOTALS = { Sent: "sent_tokens", Struck: "struck_tokens", Folded: "folded_tokens", Messages: "messages", "Read from cache": "read_tokens", Cost: "cost_usd" };
const tag = (side) => h(`span.tag.side-${side}`, side.toUpperCase());

class CompareView extends DrawnView {
  answer = h("div");
  form = h("form.versus", { onsubmit: (event) => event.preventDefault(), oninput: ({ target }) => this.#choose(target) });

  /** From the address, else the last request and the one before it. */
  wanted() {
    const { params, session } = this.context;
    const last = session.requests - 1;
    const { conversation, a = Math.max(0, last - 1), b = last, policy = "auto", policy_a = policy, policy_b = policy } = params;
    return { conversation, a: Math.min(a, last), b: Math.min(b, last), policy_a, policy_b };
  }

  async ask(path, options) {
    this.offers ??= await get("policies");
    return this.context.session.requests ? get(`${path}/compare`, this.wanted(), options) : null;
  }

  grown({ session }) {
    this.context.session = session;
    for (const field of this.form) field.max = session.requests - 1;
  }

  place(found, most = ROWS) {
    if (!found) return this.say("No request was made in this conversation yet.");
    if (!this.answer.isConnected) fill(this, this.form, this.said, this.answer);
    if (!this.form.contains(document.activeElement)) this.#build();
    const wanted = this.wanted();
    for (const field of this.form) if (field.name && field !== document.activeElement) field.value = wanted[field.name];
    fill(this.said, firstDifference(found));
    const rest = found.rows.length - most;
    const rows = found.rows.slice(0, most).map((row) => this.#row(row));
    const more = rest > 0 && button(`${counted(rest, "more row")}…`, () => this.place(found, most + ROWS));
    fill(this.answer, totals(found), table("differences", ["Message", "What it says", "A", "B"], rows), more);
  }

  #build() {
    const { policy_a: first, policy_b: second } = this.wanted();
    const { is_log: isLog, requests } = this.context.session;
    const names = isLog ? { auto: "as it was sent" } : { auto: "with Redline", sent: "as it was sent" };
    for (const { name } of this.offers.presets) names[name] = name;
    for (const name of [first, second]) names[name] ??= "my own policy";
    const side = (name) => [
      tag(name),
      h("input", { type: "number", name, min: 0, max: requests - 1, "aria-label": `Request ${name}` }),
      h("select", { name: `policy_${name}`, "aria-label": `Policy ${name}` }, Object.entries(names).map(([value, text]) => h("option", { value }, text))),
    ];
    const swap = () => {
      const { a, b, policy_a, policy_b } = this.wanted();
      this.change({ a: b, b: a, policy_a: policy_b, policy_b: policy_a });
    };
    fill(this.form, side("a"), button("⇄", swap, { "aria-label": "Swap A and B" }), side("b"));
  }

  #choose({ name, value, validity }) {
    if (value && validity.valid) this.change({ [name]: value });
  }

  #row({ index, role, says, count: same, from, tokens, ...row }) {
    const go = (to, text) => link(text, () => this.open({ index: to }));
    if (same) return [h("td.same", { colspan: 4 }, go(from, `${counted(same, "message")} the same, ${counted(tokens, "token")}`))];
    const state = (side) => [h(`span.is-${row[side]}`, row[side]), row[side] !== "absent" && h("span.number", count(row[`tokens_${side}`]))];
    return [go(index, count(index)), h("td.text", h("span.quiet", role, " "), h("bdi", line(says))), state("a"), state("b")];
  }
}

function firstDifference({ rows, same_prefix_tokens: tokens }) {
  const first = rows.find((row) => !row.count);
  if (!first) return [strong("Both are the same"), `: ${counted(tokens, "token")}.`];
  return [strong(`First difference at message ${count(first.index)}`), `: the cache is good up to ${counted(tokens, "token")}.`];
}

function totals({ a, b }) {
  const head = (side, { number, time_ms: time, is_cold: isCold }) => [tag(side), ` request ${count(number)} `, h("small", when(time), isCold && ", cold")];
  const rows = Object.entries(TOTALS).map(([name, key]) => {
    const format = key === "cost_usd" ? money : count;
    const more = b[key] - a[key];
    return [name, format(a[key]), format(b[key]), a[key] === null ? "–" : (more > 0 ? "+" : more < 0 ? "−" : "") + format(Math.abs(more))];
  });
  return table("totals", ["Totals", head("a", a), head("b", b), "Difference"], rows);
}

customElements.define("redline-compare", CompareView);
