// The timeline as an SVG: context size by kind above, what it cost below, over the same requests.

import { areaPath, compareLines, gridLines, label, linePath, scale, ticks, ticksWithin } from "./chart.js";
import { svg } from "./dom.js";
import { brief, money } from "./format.js";

const LEFT = 46;
const RIGHT = 10;
const LABEL_HEIGHT = 15;
const TIME = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** The drawing for a width, and where each point is in it: {drawing, xs, top, bottom}. `hidden` holds names of kinds. */
export function drawTimeline(timeline, width, hidden) {
  const isNarrow = width < 560;
  const top = 34;
  const bottom = top + (isNarrow ? 210 : 300);
  const cost = { left: LEFT, right: width - RIGHT, top: bottom + 52, bottom: bottom + 52 + (isNarrow ? 90 : 120) };
  const points = timeline.points.length > 1 ? timeline.points : [timeline.points[0], { ...timeline.points[0], request: timeline.points[0].request + 1 }];
  const requests = points.map((point) => point.request);
  const x = scale([requests[0], requests.at(-1)], [cost.left, cost.right]);
  const layers = stack(timeline, points, hidden);
  const marks = ticks(highest(timeline, layers), isNarrow ? 4 : 5);
  const y = scale([0, marks.at(-1)], [bottom, top]);
  const area = { ...cost, top, bottom };
  const xs = requests.map(x);
  const format = timeline.unit === "usd" ? money : brief;
  const series = timeline.costs.map(({ name, values }) => ({ name, values: requests.map((_, at) => values[Math.min(at, values.length - 1)]) }));
  const drawing = svg(
    "svg",
    { class: "drawing", width, height: cost.bottom + 44, role: "img" },
    svg("defs", {}, hatch()),
    label(0, 14, "Tokens sent with each request", { class: "title" }),
    gridLines(marks, y, { ...area, format: brief }),
    layers.map((layer) => drawLayer(layer, xs, y)),
    layers.map((layer) => nameLayer(layer, xs, y, area)),
    limits(timeline, marks.at(-1)).map((limit) => drawLimit(limit, area, y)),
    drawMoments(points, xs, area),
    label(0, cost.top - 18, timeline.unit === "usd" ? "Cost so far" : "Cost so far, in uncached input tokens", { class: "title" }),
    compareLines(cost, x, requests, series, format),
    drawRequests(points, x, { ...cost, isNarrow }),
  );
  return { drawing, xs: xs.slice(0, timeline.points.length), top, bottom: cost.bottom };
}

/** From the bottom up: each kind that is not hidden, and what was struck on top of all. */
function stack(timeline, points, hidden) {
  let floor = points.map(() => 0);
  const layers = [];
  const add = (name, className, sizeOf) => {
    const ceiling = points.map((point, at) => floor[at] + sizeOf(point));
    layers.push({ name, className, floor, ceiling });
    floor = ceiling;
  };
  timeline.kinds.forEach((kind, at) => {
    if (!hidden.has(kind)) add(kind, `kind k${at % 10}`, (point) => point.sizes[at] ?? 0);
  });
  if (!hidden.has("struck")) add("struck", "kind struck", (point) => point.struck);
  return layers;
}

/** The most that is drawn; the window and the tiers count if they are near. */
function highest(timeline, layers) {
  const most = layers.length ? Math.max(...layers.at(-1).ceiling, 1) : 1;
  const near = allLimits(timeline).map(({ tokens }) => tokens).filter((tokens) => tokens <= most * 1.3);
  return Math.max(most, ...near.map((tokens) => tokens * 1.02));
}

function allLimits(timeline) {
  const tiers = timeline.tiers.map((tier) => ({ tokens: tier.above_tokens, text: `above ${brief(tier.above_tokens)}: input × ${tier.input_factor}` }));
  const window = timeline.window_tokens ? [{ tokens: timeline.window_tokens, text: `window ${brief(timeline.window_tokens)}` }] : [];
  return [...tiers, ...window];
}

function limits(timeline, most) {
  return allLimits(timeline).filter(({ tokens }) => tokens <= most);
}

function drawLimit({ tokens, text }, { left, right }, y) {
  return svg(
    "g",
    { class: "limit" },
    svg("line", { x1: left, x2: right, y1: y(tokens), y2: y(tokens) }),
    label(left + 6, y(tokens) - 5, text),
  );
}

function drawLayer(layer, xs, y) {
  return svg("path", { class: layer.className, d: areaPath(xs, layer.ceiling.map(y), layer.floor.map(y)) });
}

/** The name of a layer, written into it where it is thickest; nothing where there is no room. */
function nameLayer(layer, xs, y, { left, right }) {
  const half = (layer.name.length * 7) / 2 + 4;
  let best = null;
  let start = 0;
  for (let at = 0; at < xs.length; at += 1) {
    if (xs[at] - half < left || xs[at] + half > right) continue;
    while (xs[start] < xs[at] - half) start += 1;
    let [ceiling, floor] = [-Infinity, Infinity];
    for (let near = Math.max(0, start - 1); near < xs.length; near += 1) {
      ceiling = Math.max(ceiling, y(layer.ceiling[near]));
      floor = Math.min(floor, y(layer.floor[near]));
      if (xs[near] > xs[at] + half || floor - ceiling < LABEL_HEIGHT) break;
    }
    const room = floor - ceiling;
    if (room >= LABEL_HEIGHT && room > (best?.room ?? 0) + 2) best = { room, x: xs[at], y: (floor + ceiling) / 2 + 4 };
  }
  return best && label(best.x, best.y, layer.name, { class: "name", "text-anchor": "middle" });
}

/** Cold requests as ticks under the axis, compactions as lines through the drawing. */
function drawMoments(points, xs, { top, bottom }) {
  const cold = xs.filter((_, at) => points[at].is_cold).map((x) => `M${x.toFixed(1)} ${bottom + 3}v8`);
  const compactions = xs.filter((_, at) => points[at].compaction);
  return [
    svg("path", { class: "cold", d: cold.join("") }),
    compactions.map((x) => svg("path", { class: "compaction", d: `${linePath([x, x], [top, bottom])}M${x - 4} ${top - 5}h8l-4 6z` })),
  ];
}

/** Numbers of requests under the axis, and below them the time. */
function drawRequests(points, x, { left, right, bottom, isNarrow }) {
  const [first, last] = [points[0].request, points.at(-1).request];
  const known = points.filter((point) => point.time_ms !== null);
  const isLong = known.length > 1 && known.at(-1).time_ms - known[0].time_ms > 36 * 3_600_000;
  let at = 0;
  return ticksWithin(first, last, isNarrow ? 4 : 8).map((request) => {
    while (at < points.length - 1 && points[at].request < request) at += 1;
    const time = points[at].time_ms;
    const middle = x(request);
    const anchor = middle - left < 16 ? "start" : right - middle < 16 ? "end" : "middle";
    return [
      svg("line", { class: "grid base", x1: middle, x2: middle, y1: bottom, y2: bottom + 4 }),
      label(middle, bottom + 18, String(request), { class: "tick", "text-anchor": anchor }),
      time !== null && label(middle, bottom + 34, (isLong ? DAY : TIME).format(time), { class: "tick time", "text-anchor": anchor }),
    ];
  });
}

function hatch() {
  return svg(
    "pattern",
    { id: "struck-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { class: "ground", width: 6, height: 6 }),
    svg("line", { class: "stroke", y2: 6 }),
  );
}
