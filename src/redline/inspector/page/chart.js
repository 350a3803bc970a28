// Scales, ticks and lines: what the drawings are made of.
import { brief, money, percent, strong, svg } from "./drawn-view.js";

export const amount = (unit) => (unit === "usd" ? money : (value) => `${brief(value)} tokens`);
export const highest = (values) => values.reduce((high, value) => Math.max(high, value), 0);

/** A bill beside the one for sending everything, in words. */
export function verdict(all, bill, unit, isHypothetical) {
  const format = amount(unit);
  if (bill === all) return [strong(format(all)), ": nothing is saved by striking instead of sending everything."];
  const gain = bill > all ? ` more than ${format(all)}` : ` of ${format(all)} ${isHypothetical ? "would be " : ""}saved`;
  const share = percent(Math.abs(all - bill) / all, 1);
  return [strong(format(Math.abs(all - bill)), gain), ` (${share}): ${format(bill)} instead of sending everything.`];
}

export function scale(low, high, start, end) {
  return (value) => start + ((value - low) * (end - start)) / (high - low || 1);
}

/** Round values from 0 on in steps of 1, 2 or 5; the last is the first that is not below `most`. */
export function ticks(most, about) {
  const rough = Math.max(most, 1e-6) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, number) => number * step);
}

export function path(className, xs, ys) {
  return svg("path", { class: className, d: `M${xs.map((x, at) => `${x.toFixed(1)} ${ys[at].toFixed(1)}`).join("L")}` });
}

export function area(className, xs, tops, bottoms) {
  return path(className, [...xs, ...xs.toReversed()], [...tops, ...bottoms.toReversed()]);
}

export function label(x, y, text, className, anchor) {
  return svg("text", { x, y, class: className, "text-anchor": anchor }, text);
}

export function grid(values, y, { left, right }, format) {
  return values.map((value) => [
    path(value ? "grid" : "grid base", [left, right], [y(value), y(value)]),
    label(left - 6, y(value) + 4, format(value), "tick", "end"),
  ]);
}

export function drawLines(title, place, xs, series, unit) {
  const format = (value) => (unit !== "usd" ? brief(value) : Number.isInteger(value) ? `$${brief(value)}` : money(value));
  const marks = ticks(highest(series.flatMap(({ values }) => values)), 3);
  const y = scale(0, marks.at(-1), place.bottom, place.top);
  const lines = series.map(({ values }) => values.map(y));
  const names = series.map(({ name }, at) => svg("tspan", { class: "tick", dx: 14 }, `${at ? "━" : "┅"} ${name}`));
  return [
    label(0, place.top - 16, [title, names], "title"),
    grid(marks, y, place, format),
    area("between", xs, ...lines),
    lines.map((ys, at) => path(at ? "line" : "line dashed", xs, ys)),
  ];
}

export function onWidth(element, draw) {
  let drawn = 0;
  const look = () => element.clientWidth && drawn !== (drawn = element.clientWidth) && draw();
  new ResizeObserver(look).observe(element);
}
