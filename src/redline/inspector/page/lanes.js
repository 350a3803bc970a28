// Records as lanes, as `git log --graph` draws them: one row for each, the present path at the left.

import { svg } from "./dom.js";

const WIDTH = 16;
const MIDDLE = 18;
const MOST_LANES = 12;

/**
 * Which lane each record is in, and which lines cross its row.
 * A chain goes on from parent to child; where a record has several children, the current or else the last one goes on, and the others begin lanes.
 */
export function layLanes(records) {
  const rowOf = new Map(records.map((record, row) => [record.number, row]));
  const parents = records.map((record, row) => parentRow(record, row, rowOf));
  const heir = heirs(records, parents);
  const chains = [];
  const chainOf = records.map((record, row) => {
    const parent = parents[row];
    if (parent !== null && heir[parent] === row) return null;
    chains.push({ from: parent ?? row, first: row, last: row, rows: [row] });
    return chains.at(-1);
  });
  for (let row = 0; row < records.length; row += 1) {
    chainOf[row] ??= chainOf[parents[row]];
    if (chainOf[row].last < row) {
      chainOf[row].last = row;
      chainOf[row].rows.push(row);
    }
  }
  placeChains(chains, records);
  return { chains, chainOf, crossing: crossings(chains, records.length), head: records.findLastIndex((record) => record.is_current), width: 1 + Math.max(...chains.map(({ lane }) => lane)), isCurrent: records.map((record) => record.is_current) };
}

/** The lanes of one row. */
export function drawLanes({ chains, chainOf, crossing, head, width, isCurrent }, row) {
  const own = chainOf[row];
  const strokes = crossing[row].map((chain) => {
    const before = chain.rows.findLastIndex((other) => other < row);
    const next = chain.rows[before + 1] ?? chain.first;
    return line(chain.lane, 0, "100%", isCurrent[next] && (before < 0 ? isCurrent[chain.from] : isCurrent[chain.rows[before]]));
  });
  const at = own.rows.indexOf(row);
  if (at > 0 || own.from < row) strokes.push(line(own.lane, 0, MIDDLE, isCurrent[row] && isCurrent[at > 0 ? own.rows[at - 1] : own.from]));
  if (at < own.rows.length - 1) strokes.push(line(own.lane, MIDDLE, "100%", isCurrent[row] && isCurrent[own.rows[at + 1]]));
  for (const chain of chains) {
    if (chain.from === row && chain.first > row) strokes.push(fork(own.lane, chain.lane, isCurrent[row] && isCurrent[chain.first]));
  }
  const node = svg("circle", { class: row === head ? "node head" : isCurrent[row] ? "node current" : "node", cx: x(own.lane), cy: MIDDLE, r: row === head ? 6 : 4.5 });
  return svg("svg", { class: "lanes", width: Math.min(width, MOST_LANES) * WIDTH + 6, "aria-hidden": "true" }, strokes, node);
}

/** A record whose parent is not among the rows goes on from the row before it, unless it is the first. */
function parentRow(record, row, rowOf) {
  const parent = rowOf.get(record.parent);
  if (parent !== undefined && parent < row) return parent;
  return row > 0 && record.parent !== null ? row - 1 : null;
}

function heirs(records, parents) {
  const heir = records.map(() => null);
  parents.forEach((parent, row) => {
    if (parent === null) return;
    const held = heir[parent];
    if (held === null || records[row].is_current || !records[held].is_current) heir[parent] = row;
  });
  return heir;
}

/** Gives each chain the first lane that is free for as long as it goes; the present path takes the first of all. */
function placeChains(chains, records) {
  const busyUntil = [];
  const isPresent = (chain) => records[chain.first].is_current;
  const main = chains.find(isPresent) ?? chains[0];
  main.lane = 0;
  busyUntil[0] = Infinity;
  for (const chain of chains.filter((one) => one !== main).sort((one, other) => one.from - other.from || one.first - other.first)) {
    let lane = busyUntil.findIndex((until) => until < chain.from);
    if (lane < 0) lane = busyUntil.length;
    chain.lane = lane;
    busyUntil[lane] = chain.last;
  }
}

/** For each row the chains that pass it without a node of theirs. */
function crossings(chains, count) {
  const crossing = Array.from({ length: count }, () => []);
  for (const chain of chains) {
    const own = new Set(chain.rows);
    for (let row = chain.from + 1; row < chain.last; row += 1) if (!own.has(row)) crossing[row].push(chain);
  }
  return crossing;
}

function x(lane) {
  return Math.min(lane, MOST_LANES - 1) * WIDTH + 10;
}

function line(lane, from, to, isCurrent) {
  return svg("line", { class: isCurrent ? "lane current" : "lane", x1: x(lane), x2: x(lane), y1: from, y2: to });
}

/** From a node down into another lane. */
function fork(from, to, isCurrent) {
  const bottom = 2 * MIDDLE;
  const className = isCurrent ? "lane current" : "lane";
  return [
    svg("path", { class: className, d: `M${x(from)} ${MIDDLE}C${x(from)} ${bottom} ${x(to)} ${MIDDLE} ${x(to)} ${bottom}` }),
    svg("line", { class: className, x1: x(to), x2: x(to), y1: bottom, y2: "100%" }),
  ];
}
