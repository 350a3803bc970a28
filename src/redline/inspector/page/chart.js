// Scales, ticks and lines: what the drawings are made of.
import { svg } from "./dom.js";
import { brief, money } from "./format.js";

/** Money or tokens, in words. */
export function amount(unit) {
  return unit === "usd" ? money : (value) => `${brief(value)} tokens`;
}

/** From a range of values to a range of pixels. */
export function scale(low, high, start, end) {
  const factor = (end - start) / (high - low || 1);
  return (value) => start + (value - low) * factor;
}

/** Round values from 0 on in steps of 1, 2 or 5; the last is the first that is not below `most`. */
export function ticks(most, about) {
  const rough = Math.max(most, 1e-6) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, number) => number * step);
}

export function highest(values) {
  return values.reduce((high, value) => Math.max(high, value), 0);
}

function linePath(xs, ys) {
  return `M${xs.map((x, at) => `${x.toFixed(1)} ${ys[at].toFixed(1)}`).join("L")}`;
}

export function areaPath(xs, tops, bottoms) {
  return linePath([...xs, ...xs.toReversed()], [...tops, ...bottoms.toReversed()]);
}

export function label(x, y, text, className, anchor) {
  return svg("text", { x, y, class: className, "text-anchor": anchor }, text);
}

export function across({ left, right }, y, className) {
  return svg("line", { class: className, x1: left, x2: right, y1: y, y2: y });
}

/** Hairlines with their values at the left. */
export function gridLines(values, y, area, format) {
  return values.map((value) => [
    across(area, y(value), value ? "grid" : "grid base"),
    label(area.left - 6, y(value) + 4, format(value), "tick", "end"),
  ]);
}

/** Lines over the same requests, what everything would have cost first, with their title and names above. */
export function drawLines(title, area, xs, series, unit) {
  const format = (value) => (unit !== "usd" ? brief(value) : Number.isInteger(value) ? `$${brief(value)}` : money(value));
  const marks = ticks(highest(series.flatMap(({ values }) => values)), 3);
  const y = scale(0, marks.at(-1), area.bottom, area.top);
  const lines = series.map(({ values }) => values.map(y));
  const names = series.map(({ name }, at) => svg("tspan", { class: "tick", dx: 14 }, `${at ? "━" : "┅"} ${name}`));
  return [
    label(0, area.top - 16, [title, names], "title"),
    gridLines(marks, y, area, format),
    lines[1] && svg("path", { class: "between", d: areaPath(xs, ...lines) }),
    lines.map((ys, at) => svg("path", { class: at ? "line" : "line dashed", d: linePath(xs, ys) })),
  ];
}

/** Calls `draw` now and whenever the width of the element changes. */
export function onWidth(element, draw) {
  let drawn = 0;
  new ResizeObserver(() => {
    if (element.clientWidth && drawn !== (drawn = element.clientWidth)) draw();
  }).observe(element);
}
