// The sessions that were found: searched, filtered and sorted; rows are added as one scrolls.
import { get } from "./api.js";
import { button, fill, h } from "./dom.js";
import { checkbox, choose, chosen, found, isTyping, offer, search, select } from "./fields.js";
import { brief, bytes, count, counted, money, span, when } from "./format.js";
import { line } from "./said.js";
import { problems } from "./session-header.js";

const PAGE = 80;
const COLUMNS = {
  when: ["When", (row) => row.ended_ms ?? row.started_ms ?? 0],
  project: ["Project", (row) => row.project ?? ""],
  title: ["Session", (row) => row.title || row.name],
  agent: ["Agent", (row) => row.agent],
  messages: ["Messages", (row) => row.messages ?? -1],
  tokens: ["Tokens", (row) => row.tokens ?? -1],
  cost: ["Cost", (row) => row.cost_usd ?? -1],
  saved: ["Saved", (row) => row.saved_usd ?? -1],
  problems: ["Problems", (row) => row.problems ?? -1],
};
const NAMES = ["project", "title", "agent"]; // sorted from A to Z at first; numbers from the largest

class SessionsView extends HTMLElement {
  rows = [];

  connectedCallback() {
    this.search = search("Search sessions", "Search title, project, path");
    this.agent = select("agent", "Agent");
    this.project = select("project", "Project");
    this.found = found();
    this.head = h("tr");
    this.body = h("tbody");
    this.table = h("table.sessions", h("thead", this.head), this.body);
    this.end = h("div");
    this.empty = h("div.failure");
    this.unreadable = h("div");
    const filter = () => this.context.go("sessions", chosen(this.form), { replace: true });
    const fields = [this.search, this.agent, this.project, checkbox("problems", "Problems"), checkbox("live", "Live"), this.found];
    this.form = h("form.controls", { role: "search", oninput: filter, onsubmit: (event) => event.preventDefault() }, fields);
    this.append(h("h1.hidden", "Sessions"), this.form, this.table, this.end, this.empty, this.unreadable);
    new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && this.add(), { rootMargin: "600px" }).observe(this.end);
    this.keys = (event) => {
      if (event.key !== "/" || isTyping(event)) return;
      event.preventDefault();
      this.search.focus();
    };
    document.addEventListener("keydown", this.keys);
  }

  async show(context) {
    this.context = context;
    if (!this.rows.length) await this.load();
    this.arrange();
  }

  /** The list changed; several changes in a moment are fetched once. */
  grown() {
    this.due ??= setTimeout(async () => {
      this.due = null;
      await this.load().catch(() => null);
      const focused = this.body.contains(document.activeElement) && document.activeElement.getAttribute("href");
      this.arrange(this.body.children.length);
      if (focused) this.body.querySelector(`a[href="${focused}"]`)?.focus({ preventScroll: true });
    }, 700);
  }

  leave() {
    document.removeEventListener("keydown", this.keys);
  }

  async load() {
    const { sessions, unreadable, is_complete: isComplete } = await get("sessions");
    this.rows = sessions;
    this.counting = isComplete ? "" : ", counting…";
    for (const row of sessions) row.words = [row.title, row.project, row.path, row.name, row.agent, row.models].join("\n").toLowerCase();
    offer(this.agent, "All agents", sessions.map(({ agent }) => agent));
    offer(this.project, "All projects", sessions.map(({ project }) => project));
    this.table.classList.toggle("unsaved", !sessions.some((row) => row.saved_usd > 0));
    fill(this.unreadable, problems("file", " could not be read", unreadable, ({ name, problem }) => [h("b", line(name, 100)), " ", line(problem, 300)]));
  }

  arrange(shown = 0) {
    const { text = "", agent, project, problems, live, sort = "-when" } = this.context.params;
    choose(this.form, this.context.params);
    const words = text.toLowerCase().split(/\s+/);
    const passes = (row) => (!agent || row.agent === agent) && (!project || row.project === project) && (!problems || row.problems) && (!live || row.is_live);
    this.listed = this.rows.filter((row) => passes(row) && words.every((word) => row.words.includes(word))).sort(order(sort));
    fill(this.head, Object.keys(COLUMNS).map((name) => this.heading(name, sort)));
    const all = counted(this.rows.length, "session") + this.counting;
    fill(this.found, this.listed.length === this.rows.length ? all : `${count(this.listed.length)} of ${all}`);
    fill(this.body, this.listed.slice(0, Math.max(shown, PAGE)).map(sessionRow));
    this.empty.hidden = this.listed.length;
    this.table.hidden = !this.listed.length;
    fill(this.empty, this.rows.length ? h("p", "No session passes these filters.") : START.map(([tag, words]) => h(tag, words)));
  }

  heading(name, sort) {
    const isSorted = sort.replace("-", "") === name;
    const isDown = sort[0] === "-";
    const next = (isSorted ? isDown : NAMES.includes(name)) ? name : `-${name}`;
    const [label] = COLUMNS[name];
    const turn = button([label, isSorted && (isDown ? " ↓" : " ↑")], () => this.context.go("sessions", { sort: next }, { replace: true }));
    return h("th", { class: name, scope: "col", "aria-sort": isSorted && (isDown ? "descending" : "ascending") }, turn);
  }

  add() {
    const shown = this.body.children.length;
    this.body.append(...(this.listed ?? []).slice(shown, shown + PAGE).map(sessionRow));
  }
}

const START = [
  ["h2", "No sessions yet"],
  ["p", "Sessions of agents on this computer appear here by themselves. To look at others, name a file, a folder or an address:"],
  ["pre.pre", "redline serve ~/sessions"],
  ["p", "To have Redline at work in one:"],
  ["pre.pre", "redline run claude"],
];

function order(sort) {
  const [, value] = COLUMNS[sort.replace("-", "")] ?? COLUMNS.when;
  const sign = sort[0] === "-" ? -1 : 1;
  return (a, b) => sign * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
}

function sessionRow(row) {
  const timeMs = row.ended_ms ?? row.started_ms;
  const number = (name, value) => h(`td.${name}${row.is_pending ? ".pending" : ""}`, { "data-label": name }, row.is_pending ? h("span.hidden", "being counted") : value);
  return h(
    "tr",
    h("td.when", row.is_live && h("span.dot.connected", { role: "img", "aria-label": "live" }), timeMs && h("time", { title: when(timeMs) }, `${span(Date.now() - timeMs)} ago`)),
    h("td.project", { title: row.project }, line(row.project?.split(/[\\/]/).filter(Boolean).at(-1), 40)),
    h("td.title", h("a", { href: `/s/${row.id}`, title: `${row.path}, ${bytes(row.bytes)}` }, line(row.title || row.name, 140))),
    h("td.agent", line(row.agent, 30)),
    number("messages", count(row.messages)),
    number("tokens", brief(row.tokens)),
    number("cost", money(row.cost_usd)),
    number("saved", row.saved_usd > 0 && money(row.saved_usd)),
    number("problems", row.problems > 0 && h("strong", count(row.problems))),
  );
}

customElements.define("redline-sessions", SessionsView);
