// The timeline as a drawing: tokens by kind above, what they cost below, over the same requests.
import { area, drawLines, grid, highest, label, path, scale, ticks } from "./chart.js";
import { brief, svg } from "./drawn-view.js";

/** The drawing for a width, where each point is in it, and from where to where it reaches: {drawing, xs, top, bottom}. */
export function drawTimeline({ kinds, points: shown, costs, unit, window_tokens: window, tiers }, width, hidden) {
  const twice = (list) => (list.length > 1 ? list : [...list, ...list]); // there is no area over a single point
  const points = twice(shown);
  const [left, right, top, bottom] = [52, width - 8, 42, width < 560 ? 240 : 330];
  const below = { left, right, top: bottom + 54, bottom: bottom + (width < 560 ? 140 : 174) };
  const xs = points.map(({ request }) => request).map(scale(points[0].request, points.at(-1).request, left, right));
  xs[xs.length - 1] = right;
  const layers = stack(kinds, points, hidden);
  const most = highest(layers.at(-1)?.ceiling ?? [1]);
  const limits = tiers.map(({ above_tokens: tokens, input_factor: factor }) => [tokens, `above ${brief(tokens)}: price × ${factor}`]);
  const near = [...limits, [window ?? Infinity, `window ${brief(window)}`]].filter(([tokens]) => tokens <= most * 1.3);
  const marks = ticks(Math.max(most, ...near.map(([tokens]) => tokens)), 5);
  const y = scale(0, marks.at(-1), bottom, top);
  const marked = (className, what, stroke) => {
    const strokes = xs.filter((_, at) => points[at][what]).map((x) => `M${x} ${stroke}`);
    return svg("path", { class: className, d: strokes.join("") });
  };
  const drawing = svg(
    "svg",
    { class: "drawing", width, height: below.bottom + 40, role: "img" },
    UNSENT.map(hatch),
    label(0, 14, "Tokens in each request", "title"),
    grid(marks, y, below, brief),
    layers.map(({ className, ceiling, floor }) => area(className, xs, ceiling.map(y), floor.map(y))),
    layers.map((layer) => nameLayer(layer, xs, y)),
    near.map(([tokens, text]) => [path("limit", [left, right], [y(tokens), y(tokens)]), label(left + 6, y(tokens) - 5, text, "limit-name")]),
    marked("cold", "is_cold", `${bottom + 3}v8`),
    marked("broke", "broke", `${bottom + 8}l-4 7h8z`),
    marked("compaction", "compaction", `${top}l-4 -6h8l-4 6V${bottom}`),
    drawLines("Cost so far", below, xs, costs.map(({ name, values }) => ({ name, values: twice(values) })), unit),
    requestTicks(points, xs, below.bottom, width / 100),
  );
  return { drawing, xs: xs.slice(0, shown.length), top, bottom: below.bottom };
}

/** What is not sent, on top of all that is. */
export const UNSENT = ["folded", "struck"];

/** From the bottom up: each kind that there is and that is not hidden, then what was folded, and what was struck. */
function stack(kinds, points, hidden) {
  let ceiling = points.map(() => 0);
  return [...kinds, ...UNSENT].flatMap((name, at) => {
    const sizes = points.map((point) => point.sizes[at] ?? Math.max(point[name], 0));
    if (hidden.has(name) || !sizes.some(Boolean)) return [];
    const floor = ceiling;
    ceiling = sizes.map((size, nth) => floor[nth] + size);
    return { name, floor, ceiling, className: at < kinds.length ? `kind k${at % 10}` : `kind hatched ${name}` };
  });
}

/** The name of a layer, written into it where there is most room. */
function nameLayer({ name, floor, ceiling }, xs, y) {
  const half = Math.ceil(((name.length * 3.4 + 3) * (xs.length - 1)) / (xs.at(-1) - xs[0]));
  const rooms = xs.slice(half, -half).map((x, at) => {
    const near = (values) => values.slice(at, at + 2 * half + 1);
    const [top, bottom] = [y(Math.min(...near(ceiling))), y(Math.max(...near(floor)))];
    return { room: bottom - top, x, middle: (top + bottom) / 2 + 4 };
  });
  const { room, x, middle } = rooms.reduce((one, other) => (other.room > one.room ? other : one), { room: 14 });
  return room > 14 && label(x, middle, name, "", "middle");
}

function requestTicks(points, xs, bottom, about) {
  const [first, last] = [points[0], points.at(-1)];
  const format = last.time_ms - first.time_ms > 36 * 3_600_000 ? { day: "numeric", month: "short" } : { timeStyle: "short" };
  return ticks(last.request, about).map((request) => {
    const at = points.findIndex((point) => point.request >= request);
    if (at < 0 || request % 1) return null;
    const time = points[at].time_ms && new Date(points[at].time_ms).toLocaleString("en-GB", format);
    return [request, time].map((text, nth) => label(xs[at], bottom + 17 + 16 * nth, text, "tick", "middle"));
  });
}

function hatch(name) {
  const size = { width: 6, height: 6 };
  const pattern = { id: `${name}-hatch`, ...size, patternUnits: "userSpaceOnUse", patternTransform: name === "struck" ? "rotate(45)" : "rotate(-45)" };
  return svg("pattern", pattern, svg("rect", size), svg("line", { y2: 6 }));
}
