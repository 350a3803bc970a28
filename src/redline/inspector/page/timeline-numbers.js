// The numbers of the timeline as a table, a page at a time.

import { fill, h } from "./dom.js";
import { count, money, when } from "./format.js";

const ROWS = 25;

/** A disclosure that holds the table; `open(request)` is called for a request that is chosen. */
export function numbersTable(timeline, open) {
  const rows = h("tbody");
  const place = h("span", { role: "status" });
  const last = Math.max(0, Math.ceil(timeline.points.length / ROWS) - 1);
  let page = last;
  const turn = (to) => {
    page = Math.min(last, Math.max(0, to));
    const from = page * ROWS;
    fill(rows, timeline.points.slice(from, from + ROWS).map((point, at) => row(timeline, point, from + at, open)));
    fill(place, `Page ${page + 1} of ${last + 1}`);
    back.disabled = page === 0;
    next.disabled = page === last;
  };
  const back = h("button", { type: "button", onclick: () => turn(page - 1) }, "Earlier");
  const next = h("button", { type: "button", onclick: () => turn(page + 1) }, "Later");
  const names = ["Request", "Time", ...timeline.kinds, "Struck", "From cache", "Cost", ...timeline.costs.map(({ name }) => `So far, ${name}`), "Note"];
  const table = h("table", {}, h("caption", {}, "Tokens by kind in each request, and what it cost"), h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, h("bdi", {}, name))))), rows);
  const details = h("details", { class: "numbers" }, h("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => turn(page), { once: true });
  details.append(h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Numbers of the timeline" }, table), h("p", { class: "pages" }, back, place, next));
  return details;
}

function row(timeline, point, at, open) {
  const format = timeline.unit === "usd" ? money : count;
  const notes = [point.is_cold && `cold: ${point.cold_because}`, point.compaction && "compaction"].filter(Boolean);
  const link = h("button", { type: "button", class: "link", onclick: () => open(point.request) }, count(point.request));
  const numbers = [...point.sizes.map(count), count(point.struck), count(point.read), money(point.cost_usd), ...timeline.costs.map(({ values }) => format(values[at]))];
  return h("tr", {}, h("th", { scope: "row" }, link), h("td", {}, when(point.time_ms)), numbers.map((value) => h("td", { class: "number" }, value)), h("td", {}, notes.join("; ")));
}
