// Records as lanes, as `git log --graph` draws them: a row for each, oldest first, the present path straight.
import { svg } from "./dom.js";

const MIDDLE = 18; // rows are as high as they like, but not below twice this
const x = (lane) => Math.min(lane, 12) * 16 + 8;

/** A small drawing for each row. */
export function drawLanes(records) {
  const parents = records.map(({ parent }, row) => records.findLastIndex(({ number }, before) => before < row && number <= parent));
  const lanes = placeLanes(records, parents);
  const strokes = records.map(() => []);
  parents.forEach((parent, row) => {
    if (parent < 0) return;
    const [from, to] = [x(lanes[parent]), x(lanes[row])];
    const className = records[row].is_current && records[parent].is_current ? "lane current" : "lane";
    const upright = (at, y1, y2) => strokes[at].push(svg("line", { class: className, x1: to, x2: to, y1, y2 }));
    const fork = `M${from} ${MIDDLE}C${from} ${2 * MIDDLE} ${to} ${MIDDLE} ${to} ${2 * MIDDLE}`;
    strokes[parent].push(svg("path", { class: className, d: fork }));
    upright(parent, 2 * MIDDLE, "100%");
    for (let between = parent + 1; between < row; between += 1) upright(between, 0, "100%");
    upright(row, 0, MIDDLE);
  });
  const head = records.findLastIndex((record) => record.is_current && record.type !== "subagent");
  return records.map((record, row) => {
    const className = row === head ? "node head" : record.is_current ? "node current" : "node";
    const node = svg("circle", { class: className, cx: x(lanes[row]), cy: MIDDLE, r: 5 });
    return svg("svg", { class: "lanes", width: x(Math.max(...lanes)) + 10, "aria-hidden": "true" }, strokes[row], node);
  });
}

/** Of several children the current one, else the last, goes on in its parent's lane; the others take a lane that is free. */
function placeLanes(records, parents) {
  const [heirs, lanes, busyUntil] = [[], [], []];
  parents.forEach((parent, row) => {
    if (records[row].is_current || !records[heirs[parent]]?.is_current) heirs[parent] = row;
  });
  parents.forEach((parent, row) => {
    lanes[row] = lanes[parent];
    if (parent >= 0 && heirs[parent] === row) return;
    let end = row;
    while (heirs[end]) end = heirs[end];
    const free = busyUntil.findIndex((until) => until < (parent < 0 ? row : parent));
    lanes[row] = free < 0 ? busyUntil.length : free;
    busyUntil[lanes[row]] = end;
  });
  return lanes;
}
