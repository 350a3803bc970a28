// Records as lanes, as `git log --graph` draws them: a row for each, oldest first, the present path straight.

import { svg } from "./dom.js";

const WIDTH = 16;
const MIDDLE = 18;
const MOST_LANES = 12;

/** A small drawing for each row. Rows are as high as they like, but not below twice MIDDLE. */
export function drawLanes(records) {
  const rowOf = new Map(records.map(({ number }, row) => [number, row]));
  const parents = records.map(({ parent }, row) => rowOf.get(parent) ?? nearest(records, parent, row));
  const lanes = placeLanes(records, parents);
  const strokes = records.map(() => []);
  parents.forEach((parent, row) => {
    if (parent === null) return;
    const className = records[row].is_current && records[parent].is_current ? "lane current" : "lane";
    const upright = (from, to) => svg("line", { class: className, x1: x(lanes[row]), x2: x(lanes[row]), y1: from, y2: to });
    const isStraight = lanes[row] === lanes[parent];
    strokes[parent].push(upright(isStraight ? MIDDLE : 2 * MIDDLE, "100%"));
    if (!isStraight) strokes[parent].push(svg("path", { class: className, d: fork(x(lanes[parent]), x(lanes[row])) }));
    for (let between = parent + 1; between < row; between += 1) strokes[between].push(upright(0, "100%"));
    strokes[row].push(upright(0, MIDDLE));
  });
  const head = records.findLastIndex((record) => record.is_current && record.type !== "subagent");
  const width = x(Math.max(...lanes)) + 10;
  return records.map((record, row) => {
    const className = row === head ? "node head" : record.is_current ? "node current" : "node";
    const node = svg("circle", { class: className, cx: x(lanes[row]), cy: MIDDLE, r: 5 });
    return svg("svg", { class: "lanes", width, "aria-hidden": "true" }, strokes[row], node);
  });
}

/** Of several children the current one, else the last, goes on in its parent's lane; the others take a lane that is free. */
function placeLanes(records, parents) {
  const heirs = records.map(() => null);
  parents.forEach((parent, row) => {
    if (parent !== null && !(records[heirs[parent]]?.is_current && !records[row].is_current)) heirs[parent] = row;
  });
  const ends = records.map((_, row) => row);
  for (let row = records.length - 1; row >= 0; row -= 1) if (heirs[row] !== null) ends[row] = ends[heirs[row]];
  const [lanes, busyUntil] = [[], []];
  parents.forEach((parent, row) => {
    if (parent !== null && heirs[parent] === row) {
      lanes[row] = lanes[parent];
      return;
    }
    const free = busyUntil.findIndex((until) => until < (parent ?? row));
    lanes[row] = free < 0 ? busyUntil.length : free;
    busyUntil[lanes[row]] = ends[row];
  });
  return lanes;
}

/** A parent that is not shown is drawn as the line before it. */
function nearest(records, parent, row) {
  const found = records.findLastIndex(({ number }, before) => before < row && number < parent);
  return found < 0 ? null : found;
}

function x(lane) {
  return Math.min(lane, MOST_LANES) * WIDTH + 8;
}

/** From a node down into another lane. */
function fork(from, to) {
  return `M${from} ${MIDDLE}C${from} ${2 * MIDDLE} ${to} ${MIDDLE} ${to} ${2 * MIDDLE}`;
}
