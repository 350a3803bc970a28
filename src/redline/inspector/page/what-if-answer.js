// What a policy would have done: money, tokens, both risks, and the policy as a text to take away.

import { compareLines, onWidth, scale } from "./chart.js";
import { fill, h, svg } from "./dom.js";
import { brief, count, counted, money, percent } from "./format.js";
import { spaced } from "./policy-form.js";

const RISKS = {
  quoted: ["Read or quoted again", "The agent later read the same unchanged lines again, or said a whole line that was only in what had been struck."],
  strict: ["Named again", "The agent later used a distinctive word, such as a path or a name, that was in struck parts and in nothing it still saw. It finds more than the other measure, and more that did no harm."],
};

export class WhatIfAnswer {
  #watch;
  #found = null;
  #context;

  /** `custom()` gives the policy as it is in the form. */
  constructor(context, custom) {
    this.#context = context;
    this.said = h("p", { class: "said", role: "status" });
    this.numbers = h("dl", { class: "figures" });
    this.risks = { quoted: h("p"), strict: h("p") };
    this.curves = h("div", { class: "curves" });
    this.rules = h("div");
    this.misses = h("div");
    this.texts = { toml: textToCopy("redline.toml"), python: textToCopy("Python") };
    const look = h("button", { type: "button", class: "main", onclick: () => this.#go({ policy: JSON.stringify(custom()) }) }, "Look at the conversation with it");
    this.element = h(
      "section",
      { class: "answer", "aria-label": "What it would have done" },
      this.said,
      this.numbers,
      this.curves,
      h("h2", {}, "Risk"),
      h("p", { class: "says" }, "Seen in the recording: what was struck and used later. A sign, not a measure of harm."),
      h("div", { class: "risks" }, Object.entries(RISKS).map(([kind, [name, says]]) => h("div", {}, h("h3", {}, name), this.risks[kind], h("details", {}, h("summary", {}, "How it is counted"), h("p", { class: "says" }, says))))),
      this.misses,
      this.rules,
      h("h2", {}, "Take it with you"),
      h("div", { class: "take" }, this.texts.toml.button, this.texts.python.button, look),
      this.texts.toml.element,
      this.texts.python.element,
    );
    this.#watch = onWidth(this.curves, () => this.#draw());
  }

  leave() {
    this.#watch.disconnect();
  }

  /** The numbers are no longer those of the form. */
  wait() {
    this.element.setAttribute("aria-busy", "true");
  }

  fail(problem) {
    this.element.removeAttribute("aria-busy");
    this.element.classList.add("failed");
    fill(this.said, h("span", { class: "problem" }, problem.message));
  }

  show(found, context) {
    this.#found = found;
    this.#context = context;
    this.element.removeAttribute("aria-busy");
    this.element.classList.remove("failed");
    fill(this.said, ...verdict(found));
    fill(this.numbers, figures(found));
    for (const kind of Object.keys(RISKS)) fill(this.risks[kind], riskInWords(found, found[kind]));
    fill(this.rules, byRule(found.by_rule));
    fill(this.misses, this.#listMisses(found.misses));
    this.texts.toml.set(found.toml);
    this.texts.python.set(found.python);
    this.#draw();
  }

  #draw() {
    if (!this.#found) return;
    const { curve, unit } = this.#found;
    const format = unit === "usd" ? money : brief;
    const width = this.curves.clientWidth;
    const each = width > 560 ? (width - 24) / 2 : width;
    fill(
      this.curves,
      smallChart("Cost so far", each, curve.points, [curve.cost_without, curve.cost], format),
      smallChart("Tokens sent", each, curve.points, [curve.sizes_without, curve.sizes], brief),
    );
  }

  #listMisses(misses) {
    if (!misses.length) return null;
    const rows = misses.map((miss) =>
      h(
        "li",
        {},
        h("button", { type: "button", class: "link", onclick: () => this.#go({ index: miss.index, at: miss.at }) }, `message ${count(miss.index)}`),
        " was struck, then used at ",
        h("button", { type: "button", class: "link", onclick: () => this.#go({ request: miss.request }) }, `request ${count(miss.request)}`),
        miss.kind === "strict" ? " (named): " : ": ",
        h("q", {}, h("bdi", {}, miss.words.length > 160 ? `${miss.words.slice(0, 160)}…` : miss.words)),
      ),
    );
    return h("details", { class: "misses" }, h("summary", {}, misses.length < 50 ? `${counted(misses.length, "strike")} that took away what was used later` : "50 strikes that took away what was used later"), h("ul", {}, rows));
  }

  #go(params) {
    this.#context.go("conversation", { ...this.#context.query(), ...params });
  }
}

function verdict({ refused, saved_share: share, unit, cost, cost_without: without }) {
  if (refused) return [h("strong", { class: "problem" }, "The model would refuse this. "), refused];
  const format = unit === "usd" ? money : (value) => `${brief(value)} tokens`;
  const difference = format(Math.abs(without - cost));
  if (share === null) return ["What it would have cost is not known."];
  return [h("strong", {}, share < 0 ? `${difference} more` : `${difference} saved`), `: ${format(cost)} instead of ${format(without)} for sending everything (${share < 0 ? "+" : "−"}${percent(Math.abs(share), 1)}).`];
}

function figures(found) {
  const format = found.unit === "usd" ? money : brief;
  const struck = found.tokens_without - found.tokens;
  return [
    ["Bill", format(found.cost), `${format(found.cost_without)} for everything; ${format(found.cost_with_rereads)} at worst, with all read again`],
    ["Tokens sent", brief(found.tokens), `of ${brief(found.tokens_without)}; ${percent(found.tokens_without ? struck / found.tokens_without : 0)} struck`],
    ["Read from cache", percent(found.read_share), "of what was sent"],
    ["Rewrites", count(found.rewrites), `of the cache, in ${counted(found.requests, "request")}`],
    ["Strikes", count(found.strikes), "parts struck"],
  ].map(([name, value, says]) => h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, value), h("small", {}, says))));
}

function riskInWords({ strikes, requests }, risk) {
  if (!risk.strikes) return "None seen.";
  const share = (part, whole) => (whole ? ` (${percent(part / whole, 1)})` : "");
  return [h("strong", {}, counted(risk.strikes, "strike")), `${share(risk.strikes, strikes)} in `, h("strong", {}, counted(risk.requests, "request")), share(risk.requests, requests)];
}

/** Strikes and tokens of each rule, as bars. */
function byRule(rules) {
  const rows = Object.entries(rules).sort(([, one], [, other]) => other.tokens - one.tokens);
  if (!rows.length) return h("p", { class: "says" }, "Nothing would have been struck.");
  const most = Math.max(...rows.map(([, { tokens }]) => tokens), 1);
  return [
    h("h2", {}, "By rule"),
    h(
      "table",
      { class: "bars" },
      h("thead", {}, h("tr", {}, ["Rule", "Strikes", "Tokens"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map(([name, { strikes, tokens }]) => h("tr", {}, h("th", { scope: "row" }, spaced(name)), h("td", { class: "number" }, count(strikes)), h("td", {}, h("meter", { min: 0, max: most, value: tokens, "aria-hidden": "true" }), " ", count(tokens))))),
    ),
  ];
}

function smallChart(title, width, requests, [without, chosen], format) {
  const area = { left: 50, right: width - 8, top: 12, bottom: 132 };
  const x = scale([requests[0] ?? 0, requests.at(-1) ?? 1], [area.left, area.right]);
  const series = [{ name: "everything sent", values: without }, { name: "this policy", values: chosen }];
  const said = `${title}: ${format(chosen.at(-1) ?? 0)} with this policy, ${format(without.at(-1) ?? 0)} with everything sent, after ${counted(requests.length ? requests.at(-1) + 1 : 0, "request")}.`;
  return h("figure", {}, h("figcaption", {}, title), svg("svg", { class: "drawing", width, height: 140, role: "img", "aria-label": said }, compareLines(area, x, requests, series, format)));
}

/** A text with a button that copies it; where the browser does not allow that, the text is shown and selected. */
function textToCopy(name) {
  const text = h("pre", { tabindex: 0 });
  const element = h("details", { class: "text" }, h("summary", {}, name), text);
  const said = h("span", { role: "status" });
  const button = h(
    "button",
    {
      type: "button",
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text.textContent);
          fill(said, " ✓ copied");
          setTimeout(() => fill(said), 2000);
        } catch {
          element.open = true;
          getSelection().selectAllChildren(text);
          fill(said, ": select and copy it below");
        }
      },
    },
    `Copy ${name}`,
    said,
  );
  return { button, element, set: (value) => fill(text, value) };
}
