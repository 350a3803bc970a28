// The timeline: how large each request was and of what, what was struck, and what it cost.

import { get } from "./api.js";
import { onWidth } from "./chart.js";
import { fill, h } from "./dom.js";
import { brief, count, counted, money, percent, when } from "./format.js";
import { Latest } from "./latest.js";
import { numbersTable } from "./timeline-numbers.js";
import { drawTimeline } from "./timeline-drawing.js";

class Timeline extends HTMLElement {
  #context = null;
  #loaded = "";
  #latest = new Latest();
  #timeline = null;
  #hidden = new Set();
  #at = 0;
  #xs = [];
  #watch = null;

  show(context) {
    this.#context = context;
    const key = JSON.stringify([context.session.id, context.query()]);
    if (key === this.#loaded) return;
    this.#loaded = key;
    fill(this, h("p", { class: "quiet", role: "status" }, "Reading the requests…"));
    this.#load();
  }

  grown() {
    this.#load();
  }

  leave() {
    this.#latest.stop();
    this.#watch?.disconnect();
    this.#loaded = "";
  }

  async #load() {
    const { session, query } = this.#context;
    try {
      const found = await this.#latest.ask((signal) => get(`sessions/${session.id}/timeline`, { ...query(), points: 1000 }, { signal }));
      if (found) this.#place(found);
    } catch (problem) {
      fill(this, h("p", { class: "problem", role: "alert" }, problem.message));
    }
  }

  #place(timeline) {
    const wasAtEnd = !this.#timeline || this.#at >= this.#timeline.points.length - 1;
    const hadFocus = this.contains(document.activeElement) && document.activeElement.getAttribute("role") === "slider";
    this.#timeline = timeline;
    this.#watch?.disconnect();
    if (!timeline.points.length) {
      fill(this, h("p", { class: "quiet" }, "No request was made in this conversation yet."));
      return;
    }
    this.#at = wasAtEnd ? timeline.points.length - 1 : Math.min(this.#at, timeline.points.length - 1);
    this.#build();
    this.#watch = onWidth(this.stage, () => this.#draw());
    if (hadFocus) this.cursor.focus();
  }

  #build() {
    const { kinds } = this.#timeline;
    this.plot = h("div", { class: "plot" });
    this.cursor = h("div", {
      class: "cursor",
      role: "slider",
      tabindex: 0,
      "aria-label": "Request; Enter opens the conversation there",
      "aria-valuemin": 0,
      "aria-valuemax": this.#timeline.requests - 1,
      onpointermove: (event) => this.#point(event),
      onclick: (event) => {
        this.#point(event);
        this.#open();
      },
      onkeydown: (event) => this.#press(event),
    });
    this.hair = h("div", { class: "hair", "aria-hidden": "true" });
    this.stage = h("div", { class: "stage" }, this.plot, this.hair, this.cursor);
    this.values = new Map([...kinds, "struck"].map((kind) => [kind, h("span", { class: "value" })]));
    this.facts = h("dl", { class: "facts" });
    this.heading = h("h2", { class: "at" });
    const legend = [...kinds.keys()].reverse().map((at) => this.#toggle(kinds[at], `k${at % 10}`));
    fill(
      this,
      h("p", { class: "said" }, ...saved(this.#timeline)),
      h(
        "div",
        { class: "timeline" },
        this.stage,
        h("aside", { class: "readout", "aria-label": "Numbers of the request" }, this.heading, h("ul", { class: "legend" }, this.#toggle("struck", "struck"), legend), this.facts),
      ),
      h("p", { class: "hint" }, h("span", { class: "cold-mark", "aria-hidden": "true" }), " the cache was cold ", h("span", { "aria-hidden": "true" }, "▾"), " compaction. Point or use the arrow keys for numbers; click or press Enter to go there."),
      numbersTable(this.#timeline, (request) => this.#go(request)),
    );
  }

  #toggle(kind, className) {
    const button = h(
      "button",
      {
        type: "button",
        "aria-pressed": String(!this.#hidden.has(kind)),
        onclick: () => {
          if (!this.#hidden.delete(kind)) this.#hidden.add(kind);
          button.setAttribute("aria-pressed", String(!this.#hidden.has(kind)));
          this.#draw();
        },
      },
      h("span", { class: `swatch ${className}`, "aria-hidden": "true" }),
      h("bdi", {}, kind),
      this.values.get(kind),
    );
    return h("li", {}, button);
  }

  #draw() {
    const { drawing, xs, top, bottom } = drawTimeline(this.#timeline, this.stage.clientWidth, this.#hidden);
    drawing.setAttribute("aria-label", sentence(this.#timeline));
    this.#xs = xs;
    fill(this.plot, drawing);
    for (const element of [this.hair, this.cursor]) {
      element.style.top = `${top}px`;
      element.style.height = `${bottom - top}px`;
    }
    this.#move(this.#at);
  }

  #point(event) {
    const x = event.clientX - this.stage.getBoundingClientRect().left;
    let [low, high] = [0, this.#xs.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#xs[middle] + this.#xs[middle + 1]) / 2 < x) low = middle + 1;
      else high = middle;
    }
    this.#move(low);
  }

  #press(event) {
    const last = this.#timeline.points.length - 1;
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -last, End: last };
    if (event.key === "Enter") this.#open();
    else if (event.key in steps) this.#move(Math.min(last, Math.max(0, this.#at + steps[event.key])));
    else return;
    event.preventDefault();
  }

  #move(at) {
    this.#at = at;
    const point = this.#timeline.points[at];
    const total = point.sizes.reduce((sum, size) => sum + size, 0);
    this.hair.style.transform = `translateX(${this.#xs[at]}px)`;
    this.#timeline.kinds.forEach((kind, number) => fill(this.values.get(kind), count(point.sizes[number])));
    fill(this.values.get("struck"), count(point.struck));
    fill(this.heading, `Request ${count(point.request)}`);
    const facts = factsOf(this.#timeline, at, total);
    fill(this.facts, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
    this.cursor.setAttribute("aria-valuenow", point.request);
    this.cursor.setAttribute("aria-valuetext", [`Request ${point.request}`, ...facts.map(([name, value]) => `${name} ${value}`), `struck ${count(point.struck)}`].join(", "));
  }

  #open() {
    this.#go(this.#timeline.points[this.#at].request);
  }

  #go(request) {
    this.#context.go("conversation", { ...this.#context.query(), request });
  }
}

/** What is known of one request, in words: [[name, value], …]. */
function factsOf(timeline, at, total) {
  const point = timeline.points[at];
  const format = timeline.unit === "usd" ? money : count;
  const so = timeline.costs.map(({ name, values }) => [name, format(values[at])]);
  const marks = [point.is_cold && `cold: ${point.cold_because || "nothing was cached"}`, point.compaction && "compacted before it"].filter(Boolean);
  return [
    ["sent", `${count(total)} tokens`],
    point.read !== null && ["from cache", total ? `${count(point.read)} (${percent(point.read / total)})` : count(point.read)],
    point.cost_usd !== null && ["cost", money(point.cost_usd)],
    ...so.map(([name, value]) => [`so far, ${name}`, value]),
    point.time_ms !== null && ["time", when(point.time_ms)],
    marks.length && ["note", marks.join("; ")],
  ].filter(Boolean);
}

/** What striking saved over the whole session, in words. */
function saved(timeline) {
  const format = timeline.unit === "usd" ? money : (value) => `${brief(value)} tokens`;
  const [without, chosen] = timeline.costs.map(({ values }) => values.at(-1));
  if (without === undefined) return ["What it cost is not known."];
  if (chosen === undefined) return [h("strong", {}, format(without)), " for everything that was sent."];
  const gain = without - chosen;
  const rest = ` with the policy “${timeline.costs[1].name}”.`;
  if (gain < 0) return [h("strong", {}, `${format(-gain)} more`), ` than the ${format(without)} for sending everything`, rest];
  return [h("strong", {}, `${format(gain)} of ${format(without)} saved`), ` (${percent(without ? gain / without : 0, 1)})`, rest];
}

/** The drawing in one sentence, for those who do not see it. */
function sentence(timeline) {
  const { points, kinds } = timeline;
  const last = points.at(-1);
  const largest = points.reduce((most, point) => Math.max(most, point.sizes.reduce((sum, size) => sum + size, 0)), 0);
  const main = kinds[last.sizes.indexOf(Math.max(...last.sizes))] ?? "nothing";
  const cold = points.filter((point) => point.is_cold).length;
  return `Tokens by kind over ${counted(timeline.requests, "request")}: at most ${brief(largest)}; in the last one mostly ${main}, with ${brief(last.struck)} struck; ${counted(cold, "cold request")}. The numbers are in the table below.`;
}

customElements.define("redline-timeline", Timeline);
