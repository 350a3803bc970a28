// The timeline as a drawing: tokens by kind above, what they cost below, over the same requests.

import { areaPath, axisFormat, drawLines, gridLines, label, scale, ticks } from "./chart.js";
import { svg } from "./dom.js";
import { brief } from "./format.js";

const LABEL_HEIGHT = 14;
const TIME = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** The drawing for a width, where each point is in it, and from where to where it reaches: {drawing, xs, top, bottom}. */
export function drawTimeline(timeline, width, hidden) {
  const { kinds, points, costs, unit, ...limits } = timeline.points.length > 1 ? timeline : doubled(timeline);
  const isNarrow = width < 560;
  const area = { left: 52, right: width - 8, top: 42, bottom: isNarrow ? 240 : 330 };
  const cost = { ...area, top: area.bottom + 54, bottom: area.bottom + (isNarrow ? 140 : 174) };
  const x = scale(points[0].request, points.at(-1).request, area.left, area.right);
  const xs = points.map(({ request }) => x(request));
  const layers = stack(kinds, points, hidden);
  const most = layers.at(-1)?.ceiling.reduce((high, size) => Math.max(high, size), 1) ?? 1;
  const lines = limitLines(limits).filter(({ tokens }) => tokens <= most * 1.3);
  const marks = ticks(Math.max(most, ...lines.map(({ tokens }) => tokens)), 5);
  const y = scale(0, marks.at(-1), area.bottom, area.top);
  const drawing = svg(
    "svg",
    { class: "drawing", width, height: cost.bottom + 40, role: "img" },
    hatch(),
    label(0, 14, "Tokens in each request", "title"),
    gridLines(marks, y, { ...area, format: brief }),
    layers.map((layer) => svg("path", { class: layer.className, d: areaPath(xs, layer.ceiling.map(y), layer.floor.map(y)) })),
    layers.map((layer) => nameLayer(layer, xs, y, area)),
    lines.map(({ tokens, text }) => [
      svg("line", { class: "limit", x1: area.left, x2: area.right, y1: y(tokens), y2: y(tokens) }),
      label(area.left + 6, y(tokens) - 5, text, "name limit-name"),
    ]),
    svg("path", { class: "cold", d: marked(points, xs, "is_cold", `${area.bottom + 3}v8`) }),
    svg("path", { class: "compaction", d: marked(points, xs, "compaction", `${area.top}V${area.bottom}`) }),
    svg("path", { class: "flag", d: marked(points, xs, "compaction", `${area.top}l-4 -6h8z`) }),
    drawLines(unit === "usd" ? "Cost so far" : "Cost so far, in input tokens", cost, xs, costs, axisFormat(unit)),
    requestTicks(points, x, cost.bottom, isNarrow ? 4 : 8),
  );
  return { drawing, xs: xs.slice(0, timeline.points.length), top: area.top, bottom: cost.bottom };
}

/** A single request as two, for there is no area over a point. */
function doubled({ points: [point], costs, ...others }) {
  const twice = costs.map(({ name, values: [value] }) => ({ name, values: [value, value] }));
  return { ...others, points: [point, { ...point, request: point.request + 1 }], costs: twice };
}

/** From the bottom up: each kind that there is and that is not hidden, and on top of all what was struck. */
function stack(kinds, points, hidden) {
  let floor = points.map(() => 0);
  return [...kinds, "struck"].flatMap((name, at) => {
    const sizes = points.map((point) => point.sizes[at] ?? point.struck);
    if (hidden.has(name) || !sizes.some(Boolean)) return [];
    const layer = { name, floor, ceiling: sizes.map((size, nth) => floor[nth] + size) };
    floor = layer.ceiling;
    return [{ ...layer, className: at < kinds.length ? `kind k${at % 10}` : "kind hatched" }];
  });
}

function limitLines({ window_tokens: window, tiers }) {
  const prices = tiers.map(({ above_tokens: tokens, input_factor: factor }) => {
    return { tokens, text: `above ${brief(tokens)}: price × ${factor}` };
  });
  return window ? [...prices, { tokens: window, text: `window ${brief(window)}` }] : prices;
}

/** The name of a layer, written into it where there is most room. */
function nameLayer({ name, floor, ceiling }, xs, y, { left, right }) {
  const half = name.length * 3.4 + 3;
  let [best, start] = [{ room: LABEL_HEIGHT }, 0];
  xs.forEach((x, at) => {
    if (x - half < left || x + half > right) return;
    while (xs[start + 1] <= x - half) start += 1;
    let [top, bottom] = [-Infinity, Infinity];
    for (let near = start; near < xs.length && bottom - top > best.room; near += 1) {
      top = Math.max(top, y(ceiling[near]));
      bottom = Math.min(bottom, y(floor[near]));
      if (xs[near] >= x + half) break;
    }
    if (bottom - top > best.room) best = { room: bottom - top, x, y: (top + bottom) / 2 + 4 };
  });
  return best.x && label(best.x, best.y, name, "name", "middle");
}

/** A path with the same stroke at each point for which something holds. */
function marked(points, xs, what, stroke) {
  return xs.map((x, at) => (points[at][what] ? `M${x.toFixed(1)} ${stroke}` : "")).join("");
}

/** Numbers of requests under the axis, and under them when they were made. */
function requestTicks(points, x, bottom, about) {
  const times = points.map((point) => point.time_ms).filter(Boolean);
  const clock = times.at(-1) - times[0] > 36 * 3_600_000 ? DAY : TIME;
  const last = points.at(-1).request;
  const shown = ticks(last, about).filter((request) => Number.isInteger(request) && request <= last);
  return shown.map((request) => {
    const time = points.find((point) => point.request >= request).time_ms;
    const anchor = request === 0 ? "start" : x(last) - x(request) < 16 ? "end" : "middle";
    const written = (text, y) => label(x(request), y, text, "tick", anchor);
    return [written(String(request), bottom + 17), time && written(clock.format(time), bottom + 33)];
  });
}

function hatch() {
  const pattern = { id: "struck-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return svg("defs", {}, svg("pattern", pattern, svg("rect", { width: 6, height: 6 }), svg("line", { y2: 6 })));
}
