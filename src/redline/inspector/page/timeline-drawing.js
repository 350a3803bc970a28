// The timeline as a drawing: tokens by kind above, what they cost below, over the same requests.
import { across, areaPath, drawLines, gridLines, highest, label, scale, ticks } from "./chart.js";
import { svg } from "./dom.js";
import { brief } from "./format.js";

/** The drawing for a width, where each point is in it, and from where to where it reaches: {drawing, xs, top, bottom}. */
export function drawTimeline({ kinds, points: shown, costs, unit, window_tokens: window, tiers }, width, hidden) {
  const twice = (list) => (list.length > 1 ? list : [...list, ...list]); // there is no area over a single point
  const points = twice(shown);
  const isNarrow = width < 560;
  const area = { left: 52, right: width - 8, top: 42, bottom: isNarrow ? 240 : 330 };
  const { left, right, top, bottom } = area;
  const below = { left, right, top: bottom + 54, bottom: bottom + (isNarrow ? 140 : 174) };
  const xs = points.map(({ request }) => scale(points[0].request, points.at(-1).request, left, right)(request));
  xs[xs.length - 1] = right;
  const layers = stack(kinds, points, hidden);
  const most = highest(layers.at(-1)?.ceiling ?? [1]);
  const limits = [...tiers.map((tier) => [tier.above_tokens, `above ${brief(tier.above_tokens)}: price × ${tier.input_factor}`])];
  if (window) limits.push([window, `window ${brief(window)}`]);
  const near = limits.filter(([tokens]) => tokens <= most * 1.3);
  const marks = ticks(Math.max(most, ...near.map(([tokens]) => tokens)), 5);
  const y = scale(0, marks.at(-1), bottom, top);
  /** The same stroke at each point for which something holds. */
  const marked = (className, what, stroke) =>
    svg("path", { class: className, d: xs.map((x, at) => (points[at][what] ? `M${x} ${stroke}` : "")).join("") });
  const drawing = svg(
    "svg",
    { class: "drawing", width, height: below.bottom + 40, role: "img" },
    hatch(),
    label(0, 14, "Tokens in each request", "title"),
    gridLines(marks, y, area, brief),
    layers.map(({ className, ceiling, floor }) => svg("path", { class: className, d: areaPath(xs, ceiling.map(y), floor.map(y)) })),
    layers.map((layer) => nameLayer(layer, xs, y)),
    near.map(([tokens, text]) => [across(area, y(tokens), "limit"), label(left + 6, y(tokens) - 5, text, "limit-name")]),
    marked("cold", "is_cold", `${bottom + 3}v8`),
    marked("compaction", "compaction", `${top}V${bottom}`),
    marked("flag", "compaction", `${top}l-4 -6h8z`),
    drawLines(unit === "usd" ? "Cost so far" : "Cost so far, in input tokens", below, xs, costs.map(({ name, values }) => ({ name, values: twice(values) })), unit),
    requestTicks(points, xs, below.bottom, isNarrow ? 4 : 8),
  );
  return { drawing, xs: xs.slice(0, shown.length), top, bottom: below.bottom };
}

/** From the bottom up: each kind that there is and that is not hidden, and on top of all what was struck. */
function stack(kinds, points, hidden) {
  let floor = points.map(() => 0);
  return [...kinds, "struck"].flatMap((name, at) => {
    const sizes = points.map((point) => point.sizes[at] ?? point.struck);
    if (hidden.has(name) || !sizes.some(Boolean)) return [];
    const layer = { name, floor, ceiling: sizes.map((size, nth) => floor[nth] + size) };
    floor = layer.ceiling;
    return { ...layer, className: at < kinds.length ? `kind k${at % 10}` : "kind hatched" };
  });
}

/** The name of a layer, written into it where there is most room. */
function nameLayer({ name, floor, ceiling }, xs, y) {
  const half = Math.ceil(((name.length * 3.4 + 3) / (xs.at(-1) - xs[0])) * (xs.length - 1));
  let best = { room: 14 };
  for (let at = half; at + half < xs.length; at += 1) {
    const near = (values) => values.slice(at - half, at + half + 1);
    const [top, bottom] = [y(Math.min(...near(ceiling))), y(Math.max(...near(floor)))];
    if (bottom - top > best.room) best = { room: bottom - top, x: xs[at], y: (top + bottom) / 2 + 4 };
  }
  return best.x && label(best.x, best.y, name, "", "middle");
}

/** Numbers of requests under the axis, and under them when they were made. */
function requestTicks(points, xs, bottom, about) {
  const times = points.map((point) => point.time_ms).filter(Boolean);
  const format = times.at(-1) - times[0] > 36 * 3_600_000 ? { day: "numeric", month: "short" } : { timeStyle: "short" };
  const last = points.at(-1).request;
  return ticks(last, about).filter((request) => Number.isInteger(request) && request <= last).map((request) => {
    const at = points.findIndex((point) => point.request >= request);
    const time = points[at].time_ms;
    const written = (text, y) => label(xs[at], y, text, "tick", at ? (xs.at(-1) - xs[at] < 16 ? "end" : "middle") : "start");
    return [written(request, bottom + 17), time && written(new Date(time).toLocaleString("en-GB", format), bottom + 33)];
  });
}

function hatch() {
  const pattern = { id: "struck-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return svg("defs", svg("pattern", pattern, svg("rect", { width: 6, height: 6 }), svg("line", { y2: 6 })));
}
