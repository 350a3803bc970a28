// Scales, ticks and paths, and the small chart of lines: what the drawings share.

import { svg } from "./dom.js";

/** From a range of values to a range of pixels. */
export function scale([low, high], [start, end]) {
  const factor = high > low ? (end - start) / (high - low) : 0;
  return (value) => start + (value - low) * factor;
}

/** Round values from 0 up to `most` in steps of 1, 2 or 5; the last is the first that is not below it. */
export function ticks(most, about) {
  if (!(most > 0)) return [0, 1];
  const rough = most / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, number) => number * step);
}

/** Round values within `low` and `high`. */
export function ticksWithin(low, high, about) {
  const step = Math.max(1, ticks(high - low, about)[1]);
  const first = Math.ceil(low / step) * step;
  return Array.from({ length: Math.floor((high - first) / step) + 1 }, (_, number) => first + number * step);
}

export function linePath(xs, ys) {
  return xs.map((x, at) => `${at ? "L" : "M"}${x.toFixed(1)} ${ys[at].toFixed(1)}`).join("");
}

export function areaPath(xs, tops, bottoms) {
  const back = linePath([...xs].reverse(), [...bottoms].reverse());
  return `${linePath(xs, tops)}L${back.slice(1)}Z`;
}

/** Text in a drawing. */
export function label(x, y, text, attributes = {}) {
  return svg("text", { x: x.toFixed(1), y: y.toFixed(1), ...attributes }, text);
}

/** Horizontal hairlines with their values at the left. */
export function gridLines(values, y, { left, right, format }) {
  return values.map((value) => [
    svg("line", { class: value ? "grid" : "grid base", x1: left, x2: right, y1: y(value), y2: y(value) }),
    label(left - 6, y(value) + 4, format(value), { class: "tick", "text-anchor": "end" }),
  ]);
}

/**
 * Two lines over the same requests, each named at its end, with the room between them filled.
 * `area` = {left, right, top, bottom} in pixels, `series` = [{name, values}, …], the baseline first.
 */
export function compareLines(area, x, requests, series, format) {
  const most = Math.max(0, ...series.map(({ values }) => values.reduce((high, value) => Math.max(high, value), 0)));
  const marks = ticks(most, area.bottom - area.top > 90 ? 4 : 2);
  const y = scale([0, marks.at(-1)], [area.bottom, area.top]);
  const xs = requests.map(x);
  const lines = series.map(({ values }) => values.map(y));
  return svg(
    "g",
    { class: "lines" },
    gridLines(marks, y, { ...area, format }),
    lines.length > 1 && svg("path", { class: "between", d: areaPath(xs, lines[0], lines[1]) }),
    lines.map((ys, at) => svg("path", { class: at ? "line chosen" : "line baseline", d: linePath(xs, ys) })),
    endLabels(area, series, lines),
  );
}

/** The names of the lines at their right end, the higher one above its line and the lower one below. */
function endLabels(area, series, lines) {
  const ends = lines.map((ys) => ys.at(-1) ?? area.bottom);
  const highest = ends.indexOf(Math.min(...ends));
  return series.map(({ name }, at) => {
    const isAbove = at === highest;
    const y = Math.min(area.bottom - 5, Math.max(area.top + 4, ends[at] + (isAbove ? -7 : 16)));
    return label(area.right - 2, y, name, { class: at ? "name chosen" : "name baseline", "text-anchor": "end" });
  });
}

/** Calls `draw(width)` now and whenever the element's width changes; gives the observer, to be disconnected. */
export function onWidth(element, draw) {
  let drawn = 0;
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width > 0 && width !== drawn) draw((drawn = width));
  });
  observer.observe(element);
  return observer;
}
