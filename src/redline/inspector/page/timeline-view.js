// The timeline: how large each request was and of what, what was struck, and what it cost.
import { get } from "./api.js";
import { amount, highest, onWidth } from "./chart.js";
import { fill, h } from "./dom.js";
import { DrawnView, button, facts, fold, link, strong, table } from "./drawn-view.js";
import { brief, count, counted, percent, when } from "./format.js";
import { line } from "./said.js";
import { drawTimeline } from "./timeline-drawing.js";

const ROWS = 25;
const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
const HELP = "❙ cold cache, ▼ compaction. Point or press arrows for numbers; click or press Enter to go there.";

class TimelineView extends DrawnView {
  hidden_kinds = new Set();
  at = Infinity;
  plot = h("div");
  hair = h("div.hair");
  cursor = this.#makeCursor();
  stage = h("div.stage", this.plot, this.hair, this.cursor);
  heading = h("h2");
  legend = h("ul.legend");
  facts = h("dl");
  numbers = h("div.wide", { tabindex: 0, role: "region", "aria-label": "Numbers of the requests" });
  pages = h("p.inline", { role: "status" });
  fold = fold("Numbers", this.numbers, this.pages);

  constructor() {
    super();
    onWidth(this.stage, () => this.#draw());
    this.fold.addEventListener("toggle", () => this.#turn(Infinity));
  }

  ask(path, options) {
    return get(`${path}/timeline`, { ...this.context.query(), points: 1000 }, options);
  }

  place(timeline) {
    const { points, kinds, requests } = timeline;
    if (!points.length) return this.say("No request was made in this conversation yet.");
    if (this.at >= this.timeline?.points.length - 1) this.at = Infinity;
    const isNew = String(this.timeline?.kinds) !== String(kinds);
    this.timeline = timeline;
    if (isNew) this.#name([...kinds, "struck"]);
    if (!this.stage.isConnected) {
      const readout = h("section", { "aria-label": "Numbers of the request" }, this.heading, this.legend, this.facts);
      fill(this, this.said, h("div.columns", this.stage, readout), h("p.says", HELP), this.fold);
    }
    fill(this.said, saved(timeline));
    this.cursor.setAttribute("aria-valuemax", requests - 1);
    this.#turn(Infinity);
    this.#draw();
  }

  /** What lies over the drawing and is pointed at; for the keyboard it is a slider over the requests. */
  #makeCursor() {
    const onpointermove = ({ clientX }) => {
      const x = clientX - this.stage.getBoundingClientRect().left;
      const away = this.xs.map((one) => Math.abs(one - x));
      this.#move(away.indexOf(Math.min(...away)));
    };
    const onkeydown = (event) => {
      if (event.key === "Enter") this.#open();
      else if (event.key in STEPS) this.#move(this.at + STEPS[event.key]);
      else return;
      event.preventDefault();
    };
    const onclick = (event) => event.pointerType !== "touch" && this.#open(); // a finger has to be able to look first
    const on = { onpointermove, onpointerdown: onpointermove, onclick, onkeydown };
    return h("div.cursor", { tabindex: 0, role: "slider", "aria-label": "Request", "aria-valuemin": 0, ...on });
  }

  #open(at = this.at) {
    this.open({ request: this.timeline.points[at].request });
  }

  /** The legend: what each colour is, to be shown or not. */
  #name(names) {
    this.values = names.map(() => h("span.number"));
    const toggles = names.map((name, at) => {
      const swatch = h("span", { class: name === "struck" ? "swatch hatched" : `swatch k${at % 10}` });
      const toggle = button([swatch, h("bdi", line(name, 60)), this.values[at]], () => {
        if (!this.hidden_kinds.delete(name)) this.hidden_kinds.add(name);
        toggle.ariaPressed = !this.hidden_kinds.has(name);
        this.#draw();
      });
      toggle.ariaPressed = !this.hidden_kinds.has(name);
      return h("li", toggle);
    });
    fill(this.legend, toggles.reverse());
  }

  #draw() {
    const { drawing, xs, top, bottom } = drawTimeline(this.timeline, this.stage.clientWidth, this.hidden_kinds);
    drawing.ariaLabel = inWords(this.timeline);
    fill(this.plot, drawing);
    this.xs = xs;
    for (const { style } of [this.hair, this.cursor]) [style.top, style.height] = [`${top}px`, `${bottom - top}px`];
    this.#move(this.at);
  }

  #move(to) {
    const at = (this.at = Math.max(0, Math.min(to, this.xs.length - 1)));
    const point = this.timeline.points[at];
    const known = factsOf(this.timeline, at).filter(([, value]) => value);
    this.hair.style.transform = `translateX(${this.xs[at]}px)`;
    [...point.sizes, point.struck].forEach((size, nth) => fill(this.values[nth], count(size)));
    fill(this.heading, link(`Request ${count(point.request)}`, () => this.#open()));
    fill(this.facts, facts(known));
    this.cursor.setAttribute("aria-valuenow", point.request);
    this.cursor.setAttribute("aria-valuetext", `${point.request}: ${known.map((fact) => fact.join(" ")).join(", ")}`);
  }

  /** The numbers as a table, a page at a time. */
  #turn(to) {
    if (!this.fold.open) return;
    const { points, kinds } = this.timeline;
    const last = Math.ceil(points.length / ROWS) - 1;
    const page = Math.min(last, to);
    const row = (point, nth) => {
      const at = page * ROWS + nth;
      return [link(count(point.request), () => this.#open(at)), ...point.sizes.map(count), ...factsOf(this.timeline, at).map(([, value]) => value)];
    };
    const heads = ["request", ...kinds.map((kind) => h("bdi", line(kind, 60))), ...factsOf(this.timeline, 0).map(([name]) => name)];
    const turner = (name, by, disabled) => button(name, () => this.#turn(page + by), { disabled });
    fill(this.numbers, table("", heads, points.slice(page * ROWS, (page + 1) * ROWS).map(row)));
    fill(this.pages, turner("Earlier", -1, page === 0), `Page ${page + 1} of ${last + 1}`, turner("Later", 1, page === last));
  }
}

const total = (sizes) => sizes.reduce((sum, size) => sum + size, 0);

/** What is known of one request: [[name, value], …]. */
function factsOf({ points, costs, unit }, at) {
  const { sizes, struck, read, cost, time_ms: time, is_cold: isCold, cold_because: why, compaction } = points[at];
  const format = amount(unit);
  return [
    ["sent", count(total(sizes))],
    ["struck", count(struck)],
    ["from cache", count(read)],
    ["cost", format(cost)],
    ...costs.map(({ name, values }) => [`so far, ${name}`, format(values[at])]),
    ["time", when(time)],
    ["note", [isCold && `cold: ${why}`, compaction && "after a compaction"].filter(Boolean).join("; ")],
  ];
}

/** What the policy saved over the whole session. */
function saved({ costs, unit, is_hypothetical: isHypothetical }) {
  const format = amount(unit);
  const [all, chosen] = costs.map(({ values }) => values.at(-1));
  if (all === undefined) return "What it cost is not known.";
  if (chosen === undefined) return [strong(format(all)), " for everything that was sent."];
  if (chosen === all) return [strong(format(all)), ". Nothing is struck in it that would have changed that."];
  const gain = `${format(all - chosen)} of ${format(all)} ${isHypothetical ? "would be saved" : "saved"}`;
  const share = percent(all && Math.abs(all - chosen) / all, 1);
  const words = chosen > all ? `${format(chosen - all)} more than ${format(all)}` : gain;
  return [strong(words), ` (${share})${isHypothetical ? ` with the policy “${costs[1].name}”` : ""}.`];
}

/** The drawing in a sentence, for those who do not see it. */
function inWords({ points, kinds, requests }) {
  const { sizes, struck } = points.at(-1);
  const most = brief(highest(points.map((point) => total(point.sizes))));
  const mostly = `${kinds[sizes.indexOf(highest(sizes))]}, with ${brief(struck)} struck`;
  return `Tokens by kind over ${counted(requests, "request")}, ${most} at most; the last is mostly ${mostly}. The table “Numbers” has all of it.`;
}

customElements.define("redline-timeline", TimelineView);
