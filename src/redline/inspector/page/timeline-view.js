// The timeline: how large each request was and of what, what was struck, and what it cost.

import { get } from "./api.js";
import { onWidth } from "./chart.js";
import { fill, h } from "./dom.js";
import { DrawnView, button, link, table } from "./drawn-view.js";
import { brief, count, counted, money, percent, when } from "./format.js";
import { line } from "./said.js";
import { drawTimeline } from "./timeline-drawing.js";

const ROWS = 25;

class TimelineView extends DrawnView {
  #hidden = new Set();
  #at = 0;

  ask(path, options) {
    return get(`${path}/timeline`, { ...this.context.query(), points: 1000 }, options);
  }

  place(timeline) {
    const before = this.contains(this.stage) ? this.timeline : null;
    const last = timeline.points.length - 1;
    if (last < 0) {
      this.say("No request was made in this conversation yet.");
      return;
    }
    this.#at = !before || this.#at >= before.points.length - 1 ? last : Math.min(this.#at, last);
    this.timeline = timeline;
    if (String(before?.kinds) !== String(timeline.kinds)) this.#build();
    fill(this.said, saved(timeline));
    this.cursor.setAttribute("aria-valuemax", timeline.requests - 1);
    if (this.table.open) this.turn(Infinity);
    this.#draw();
  }

  #build() {
    this.said = h("p", { class: "said" });
    this.values = [...this.timeline.kinds, "struck"].map(() => h("span", { class: "number" }));
    this.facts = h("dl");
    this.heading = h("h2");
    this.plot = h("div");
    this.hair = h("div", { class: "hair" });
    this.cursor = this.#makeCursor();
    this.stage = h("div", { class: "stage" }, this.plot, this.hair, this.cursor);
    const legend = h("ul", { class: "legend" }, this.values.map((_, at) => this.#toggle(at)).reverse());
    const readout = h("section", { "aria-label": "The request" }, this.heading, legend, this.facts);
    this.table = this.#makeTable();
    fill(
      this,
      this.said,
      h("div", { class: "columns" }, this.stage, readout),
      h("p", { class: "says" }, "❙ cold cache, ▼ compaction. Point or press arrows for numbers; click or press Enter to go there."),
      this.table,
    );
    onWidth(this.stage, () => this.#draw());
  }

  /** What lies over the drawing and is pointed at; for the keyboard it is a slider over the requests. */
  #makeCursor() {
    const point = (event) => {
      const x = event.clientX - this.stage.getBoundingClientRect().left;
      const after = this.xs.findIndex((one) => one >= x);
      this.#move(after < 0 ? this.xs.length - 1 : after && x - this.xs[after - 1] < this.xs[after] - x ? after - 1 : after);
    };
    const press = (event) => {
      const last = this.timeline.points.length - 1;
      const arrows = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
      const steps = { ...arrows, PageDown: -10, PageUp: 10, Home: -last, End: last };
      if (event.key === "Enter") this.#openHere();
      else if (event.key in steps) this.#move(Math.min(last, Math.max(0, this.#at + steps[event.key])));
      else return;
      event.preventDefault();
    };
    const click = (event) => event.pointerType !== "touch" && this.#openHere(); // a finger has to be able to look first
    const on = { onpointermove: point, onpointerdown: point, onclick: click, onkeydown: press };
    return h("div", { class: "cursor", tabindex: 0, role: "slider", "aria-label": "Request", "aria-valuemin": 0, ...on });
  }

  #openHere() {
    this.open({ request: this.timeline.points[this.#at].request });
  }

  #toggle(at) {
    const name = this.timeline.kinds[at] ?? "struck";
    const className = at < this.timeline.kinds.length ? `swatch k${at % 10}` : "swatch hatched";
    const press = () => {
      if (!this.#hidden.delete(name)) this.#hidden.add(name);
      toggle.setAttribute("aria-pressed", !this.#hidden.has(name));
      this.#draw();
    };
    const content = [h("span", { class: className }), h("bdi", {}, line(name, 60)), this.values[at]];
    const toggle = button(content, press, { "aria-pressed": String(!this.#hidden.has(name)) });
    return h("li", {}, toggle);
  }

  #draw() {
    const { drawing, xs, top, bottom } = drawTimeline(this.timeline, this.stage.clientWidth, this.#hidden);
    drawing.setAttribute("aria-label", inWords(this.timeline));
    fill(this.plot, drawing);
    this.xs = xs;
    for (const { style } of [this.hair, this.cursor]) [style.top, style.height] = [`${top}px`, `${bottom - top}px`];
    this.#move(this.#at);
  }

  #move(at) {
    this.#at = at;
    const point = this.timeline.points[at];
    const facts = factsOf(this.timeline, at);
    this.hair.style.transform = `translateX(${this.xs[at]}px)`;
    [...point.sizes, point.struck].forEach((size, nth) => fill(this.values[nth], count(size)));
    fill(this.heading, link(`Request ${count(point.request)}`, () => this.#openHere()));
    fill(this.facts, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    this.cursor.setAttribute("aria-valuenow", point.request);
    this.cursor.setAttribute("aria-valuetext", `${point.request}: ${facts.map((fact) => fact.join(" ")).join(", ")}`);
  }

  /** The numbers as a table, a page at a time. */
  #makeTable() {
    const place = h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Numbers of the requests" });
    const pages = h("p", { class: "inline", role: "status" });
    this.turn = (to) => {
      const { points, kinds } = this.timeline;
      const last = Math.ceil(points.length / ROWS) - 1;
      const page = Math.min(last, to);
      const names = factsOf(this.timeline, 0, true).map(([name]) => name);
      const heads = ["request", ...kinds.map((kind) => h("bdi", {}, line(kind, 60))), ...names];
      const rows = points.slice(page * ROWS, (page + 1) * ROWS).map((point, nth) => [
        link(count(point.request), () => this.open({ request: point.request })),
        ...point.sizes.map(count),
        ...factsOf(this.timeline, page * ROWS + nth, true).map(([, value]) => value),
      ]);
      const turner = (name, by, disabled) => button(name, () => this.turn(page + by), { disabled });
      fill(place, table("", heads, rows));
      fill(pages, turner("Earlier", -1, page === 0), `Page ${page + 1} of ${last + 1}`, turner("Later", 1, page === last));
    };
    return h("details", { ontoggle: () => this.turn(Infinity) }, h("summary", {}, "Numbers"), place, pages);
  }
}

/** What is known of one request: [[name, value], …]; with all that could be, if `isWhole`. */
function factsOf({ points, costs, unit }, at, isWhole = false) {
  const point = points[at];
  const format = unit === "usd" ? money : count;
  const sent = point.sizes.reduce((sum, size) => sum + size, 0);
  const notes = [point.is_cold && `cold: ${point.cold_because}`, point.compaction && "after a compaction"].filter(Boolean);
  return [
    ["sent", count(sent)],
    ["struck", count(point.struck)],
    ["from cache", count(point.read)],
    ["cost", format(point.cost)],
    ...costs.map(({ name, values }) => [`so far, ${name}`, format(values[at])]),
    ["time", when(point.time_ms)],
    ["note", notes.join("; ")],
  ].filter(([, value]) => value || isWhole);
}

/** What the policy saved over the whole session. */
function saved({ costs, unit, is_hypothetical: isHypothetical }) {
  const format = unit === "usd" ? money : (value) => `${brief(value)} tokens`;
  const [all, chosen] = costs.map(({ values }) => values.at(-1));
  if (all === undefined) return "What it cost is not known.";
  if (chosen === undefined) return [h("strong", {}, format(all)), " for everything that was sent."];
  if (chosen === all) return [h("strong", {}, format(all)), ". Nothing is struck in it that would have changed that."];
  const share = percent(all ? Math.abs(all - chosen) / all : 0, 1);
  const gain = `${format(all - chosen)} of ${format(all)} ${isHypothetical ? "would be saved" : "saved"}`;
  const words = chosen > all ? `${format(chosen - all)} more than ${format(all)}` : gain;
  return [h("strong", {}, words), ` (${share})${isHypothetical ? ` with the policy “${costs[1].name}”` : ""}.`];
}

/** The drawing in a sentence, for those who do not see it. */
function inWords({ points, kinds, requests }) {
  const last = points.at(-1);
  const most = points.reduce((high, { sizes }) => Math.max(high, sizes.reduce((sum, size) => sum + size, 0)), 0);
  const cold = points.filter((point) => point.is_cold).length;
  const main = kinds[last.sizes.indexOf(Math.max(...last.sizes))];
  const sizes = `${brief(most)} at most; the last is mostly ${main}, with ${brief(last.struck)} struck`;
  return `Tokens by kind over ${counted(requests, "request")}, ${sizes}; ${cold} cold. The table “Numbers” has all of it.`;
}

customElements.define("redline-timeline", TimelineView);
