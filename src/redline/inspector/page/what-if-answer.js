// What a policy would have done to a session: money, tokens, both risks, and the policy as a text to take away.

import { axisFormat, drawLines, onWidth, scale } from "./chart.js";
import { fill, h, svg } from "./dom.js";
import { button, link, table } from "./drawn-view.js";
import { brief, count, counted, money, percent } from "./format.js";
import { spaced } from "./policy-form.js";
import { line } from "./said.js";

const RISKS = {
  quoted: [
    "Read or quoted again",
    "The agent later read the same unchanged lines again, or said a whole line that was only in what had been struck.",
  ],
  strict: [
    "Named again",
    "The agent later used a distinctive word, such as a path, that was only in what had been struck. Much of it did no harm.",
  ],
};

export class WhatIfAnswer {
  #found = null;

  /** `open(params)` opens the conversation with the policy. */
  constructor(open) {
    this.open = open;
    this.said = h("p", { class: "said", role: "status" });
    this.figures = h("dl", { class: "figures" });
    this.curves = h("div", { class: "curves" });
    this.risks = Object.entries(RISKS).map(([kind, [name, says]]) => ({ kind, name, says, counts: h("p") }));
    this.details = h("div");
    this.texts = { toml: textToCopy("redline.toml"), python: textToCopy("Python") };
    const texts = Object.values(this.texts);
    const look = button("Look at the conversation with it", () => open({}), { class: "main" });
    this.element = h(
      "section",
      { "aria-label": "What it would have done" },
      this.figures,
      this.curves,
      h("h2", {}, "Risk"),
      h("div", { class: "pair" }, this.risks.map((risk) => h("div", {}, risk.name, risk.counts, folded("How it is counted", risk.says)))),
      this.details,
      h("h2", {}, "Take it with you"),
      h("p", { class: "inline" }, texts.map((text) => text.button), look),
      texts.map((text) => text.element),
    );
    onWidth(this.curves, () => this.#draw());
  }

  fail(problem) {
    fill(this.said, h("span", { class: "problem" }, problem.message));
  }

  show(found) {
    this.#found = found;
    fill(this.said, verdict(found));
    fill(this.figures, figures(found));
    for (const { kind, counts } of this.risks) fill(counts, riskInWords(found, found[kind]));
    fill(this.details, this.#misses(found.misses), byRule(found.by_rule));
    for (const [kind, text] of Object.entries(this.texts)) text.set(found[kind]);
    this.#draw();
  }

  #draw() {
    if (!(this.#found?.requests > 1)) return;
    const { curve, unit } = this.#found;
    const room = this.curves.clientWidth;
    const width = room > 620 ? Math.floor(room / 2) - 17 : room;
    fill(
      this.curves,
      smallChart("Cost so far", width, curve.points, [curve.cost_without, curve.cost], axisFormat(unit)),
      smallChart("Tokens sent", width, curve.points, [curve.sizes_without, curve.sizes], brief),
    );
  }

  #misses(misses) {
    if (!misses.length) return null;
    const rows = misses.map(({ index, at, request, words }) => {
      const message = link(`Message ${count(index)}`, () => this.open({ index, at }));
      const use = link(`request ${count(request)}`, () => this.open({ request }));
      return h("li", {}, message, ", used again at ", use, ": ", h("bdi", {}, "“", line(words, 120), "”"));
    });
    return folded(`${counted(misses.length, "time")} it was struck and used again`, h("ul", { class: "list" }, rows));
  }
}

function folded(name, content) {
  return h("details", {}, h("summary", {}, name), h("div", { class: "says" }, content));
}

function verdict({ refused, saved_share: share, unit, cost, cost_without: without }) {
  if (refused) return [h("strong", { class: "problem" }, "The model would refuse this. "), refused];
  if (share === null) return "What it would have cost is not known.";
  const format = unit === "usd" ? money : (value) => `${brief(value)} tokens`;
  const words = `${format(Math.abs(without - cost))} ${cost > without ? "more" : "saved"}`;
  const signed = `${cost > without ? "+" : "−"}${percent(Math.abs(share), 1)}`;
  return [h("strong", {}, words), `: ${format(cost)} instead of ${format(without)} for sending everything (${signed}).`];
}

function figures(found) {
  const format = found.unit === "usd" ? money : brief;
  return [
    ["Bill", format(found.cost), `${format(found.cost_with_rereads)} if all that was used had been read again`],
    ["Tokens sent", brief(found.tokens), `of ${brief(found.tokens_without)}, in ${counted(found.requests, "request")}`],
    ["Read from cache", percent(found.read_share), "of what was sent"],
    ["Rewrites", count(found.rewrites), "of what was cached"],
    ["Strikes", count(found.strikes), "parts of messages"],
  ].map(([name, value, says]) => h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, value), h("small", {}, says))));
}

function riskInWords({ strikes, requests }, risk) {
  if (!risk.strikes) return "None seen.";
  const part = (number, whole, what) => [h("strong", {}, counted(number, what)), ` (${percent(number / whole, 1)})`];
  return [part(risk.strikes, strikes, "strike"), " in ", part(risk.requests, requests, "request")];
}

function byRule(rules) {
  const rows = Object.entries(rules).sort(([, one], [, other]) => other.tokens - one.tokens);
  const cells = rows.map(([name, { strikes, tokens }]) => {
    const bar = h("span", { class: "amount" });
    bar.style.width = `${(60 * tokens) / (rows[0][1].tokens || 1)}%`;
    return [spaced(name), count(strikes), h("td", {}, bar, ` ${count(tokens)}`)];
  });
  return rows.length > 0 && [h("h2", {}, "By rule"), table("bars", ["Rule", "Strikes", "Tokens"], cells)];
}

function smallChart(title, width, requests, [without, chosen], format) {
  const area = { left: 52, right: width - 8, top: 30, bottom: 150 };
  const series = [{ name: "everything sent", values: without }, { name: "this policy", values: chosen }];
  const said = `${title}: ${format(chosen.at(-1))} with this policy, ${format(without.at(-1))} with everything sent.`;
  const xs = requests.map(scale(requests[0], requests.at(-1), area.left, area.right));
  const lines = drawLines(title, area, xs, series, format);
  return svg("svg", { class: "drawing", width, height: 160, role: "img", "aria-label": said }, lines);
}

/** A text with a button that copies it; where the browser does not let it, the text is opened and selected. */
function textToCopy(name) {
  const text = h("pre", { tabindex: 0, "aria-label": name });
  const element = h("details", {}, h("summary", {}, name), text);
  const said = h("span", { role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      fill(said, " ✓");
    } catch {
      element.open = true;
      getSelection().selectAllChildren(text);
      fill(said, ": select it below");
    }
  };
  return {
    button: button([`Copy ${name}`, said], copy),
    element,
    set: (value) => {
      fill(text, value);
      fill(said);
    },
  };
}
