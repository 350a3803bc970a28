// The timeline: how large each request was and of what, what was struck, and what it cost.
import { amount, highest, onWidth, verdict } from "./chart.js";
import { DrawnView, brief, button, count, counted, facts, fill, fold, get, h, line, link, table, when } from "./drawn-view.js";
import { UNSENT, drawTimeline } from "./timeline-drawing.js";

const ROWS = 25;
const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
const HELP = "❙ cold cache, ▲ lost cache, ▼ compaction. Point or press arrows for numbers; click or press Enter to go there.";
const total = (sizes) => sizes.reduce((sum, size) => sum + size, 0);

/** `mcp__server__tool` as "tool (server)" */
const named = (kind) => h("bdi", { title: kind }, line(kind.replace(/^mcp__(.+?)__(.+)$/, "$2 ($1)"), 60));

class TimelineView extends DrawnView {
  off = new Set();
  at = Infinity;
  plot = h("div");
  hair = h("div.hair");
  cursor = this.#makeCursor();
  stage = h("div.stage", this.plot, this.cursor);
  heading = h("h2");
  legend = h("ul.legend");
  facts = h("dl");
  broke = fold("What broke the cache", h("dl"));
  numbers = h("div.wide", { tabindex: 0, role: "region", "aria-label": "Numbers of the requests" });
  pages = h("p.inline", { role: "status" });
  fold = fold("Numbers", this.numbers, this.pages);

  ask(path, options) {
    return get(`${path}/timeline`, { ...this.context.query(), points: 1000 }, options);
  }

  place(timeline) {
    const { points, kinds, requests, costs, unit, is_hypothetical: isHypothetical } = timeline;
    if (!points.length) return this.say("No request was made in this conversation yet.");
    if (this.at >= this.timeline?.points.length - 1) this.at = Infinity;
    const names = [...kinds, ...UNSENT.filter((name) => name === "struck" || points.some((point) => point[name]))];
    if (String(this.names) !== String(names)) this.#name(names);
    this.timeline = timeline;
    fill(this.said, verdict(...costs.map(({ values }) => values.at(-1)), unit, isHypothetical));
    this.cursor.ariaValueMax = requests - 1;
    if (!this.stage.isConnected) this.#build();
    this.#turn(Infinity);
    this.#draw();
  }

  #build() {
    const readout = h("section", { "aria-label": "Numbers of the request" }, this.heading, this.legend, this.facts, this.broke);
    fill(this, this.said, h("div.columns", this.stage, readout), h("p.says", HELP), this.fold);
    this.fold.ontoggle = () => this.#turn(Infinity);
    onWidth(this.stage, () => this.#draw());
  }

  /** What lies over the drawing and is pointed at; for the keyboard it is a slider over the requests. */
  #makeCursor() {
    const onpointermove = ({ offsetX }) => {
      const away = this.xs.map((x) => Math.abs(x - offsetX));
      this.#move(away.indexOf(Math.min(...away)));
    };
    const onkeydown = (event) => {
      if (event.key === "Enter") this.#open();
      else if (event.key in STEPS) this.#move(this.at + STEPS[event.key]);
      else return;
      event.preventDefault();
    };
    const onclick = ({ pointerType }) => pointerType !== "touch" && this.#open(); // a finger has to be able to look first
    const on = { onpointermove, onpointerdown: onpointermove, onclick, onkeydown };
    return h("div.cursor", { tabindex: 0, role: "slider", "aria-label": "Request", "aria-valuemin": 0, ...on }, this.hair);
  }

  #open(at = this.at) {
    this.open({ request: this.timeline.points[at].request });
  }

  #name(names) {
    this.names = names;
    this.values = names.map(() => h("span.number"));
    const toggle = (name, at) => {
      const swatch = h(UNSENT.includes(name) ? `span.swatch.hatched.${name}` : `span.swatch.k${at % 10}`);
      const made = button([swatch, named(name), this.values[at]], () => {
        if (!this.off.delete(name)) this.off.add(name);
        made.ariaPressed = !this.off.has(name);
        this.#draw();
      });
      made.ariaPressed = !this.off.has(name);
      return h("li", made);
    };
    fill(this.legend, names.map(toggle).reverse());
  }

  #draw() {
    const { points, requests } = this.timeline;
    const { drawing, xs, top, bottom } = drawTimeline(this.timeline, this.stage.clientWidth, this.off);
    const most = brief(highest(points.map(({ sizes }) => total(sizes))));
    drawing.ariaLabel = `Tokens by kind over ${counted(requests, "request")}, ${most} at most. The table “Numbers” has all of it.`;
    fill(this.plot, drawing);
    this.xs = xs;
    Object.assign(this.cursor.style, { top: `${top}px`, height: `${bottom - top}px` });
    this.#move(this.at);
  }

  #move(to) {
    this.at = Math.max(0, Math.min(to, this.xs.length - 1));
    const point = this.timeline.points[this.at];
    const { request, sizes } = point;
    const known = factsOf(this.timeline, this.at).filter(([, value]) => value);
    this.hair.style.left = `${this.xs[this.at]}px`;
    this.names.forEach((name, nth) => fill(this.values[nth], count(sizes[nth] ?? point[name])));
    fill(this.heading, link(`Request ${count(request)}`, () => this.#open()));
    fill(this.facts, facts(known));
    this.broke.hidden = !point.broke;
    if (point.broke) fill(this.broke.querySelector("dl"), facts(brokenBy(point.broke)));
    Object.assign(this.cursor, { ariaValueNow: request, ariaValueText: `${request}: ${known.map((fact) => fact.join(" ")).join(", ")}` });
  }

  #turn(to) {
    if (!this.fold.open) return;
    const { points, kinds } = this.timeline;
    const last = Math.ceil(points.length / ROWS) - 1;
    const page = Math.min(last, to);
    const known = points.map((_, at) => factsOf(this.timeline, at));
    const row = ({ request, sizes }, at) => [link(count(request), () => this.#open(at)), ...sizes.map(count), ...known[at].map(([, value]) => value)];
    const heads = ["request", ...kinds.map(named), ...known[0].map(([name]) => name)];
    const turner = (name, by, disabled) => button(name, () => this.#turn(page + by), { disabled });
    fill(this.numbers, table("", heads, points.map(row).slice(page * ROWS, (page + 1) * ROWS)));
    fill(this.pages, turner("Earlier", -1, page === 0), `Page ${page + 1} of ${last + 1}`, turner("Later", 1, page === last));
  }
}

function factsOf({ points, costs, unit }, at) {
  const { sizes, struck, folded, read, cost, time_ms: time, is_cold: isCold, cold_because: why, compaction, broke } = points[at];
  const format = amount(unit);
  return [
    ["sent", count(total(sizes))],
    ["struck", count(struck)],
    ["folded", count(folded)],
    ["from cache", count(read)],
    ["cost", format(cost)],
    ...costs.map(({ name, values }) => [`so far, ${name}`, format(values[at])]),
    ["time", when(time)],
    ["note", [broke ? `lost cache: ${broke.says}` : isCold && `cold: ${why}`, compaction && "after a compaction"].filter(Boolean).join("; ")],
  ];
}

/** What a lost cache is told with: the cause, the words at its place, what was lost, and what to set. */
function brokenBy({ says, before, after, by, lost_tokens: tokens, lost_usd: usd, advice }) {
  const who = { client: "the client", redline: "Redline", provider: "the provider", time: "a pause" }[by];
  const lost = `${count(tokens)} tokens${usd === null ? "" : `, ${amount("usd")(usd)}`}`;
  return [["what", says], ["before", before], ["after", after], ["who", who], ["lost", lost], ["set", advice]].filter(([, value]) => value);
}

customElements.define("redline-timeline", TimelineView);
