// The sessions that were found: searched, filtered and sorted; rows are added as one scrolls.
import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { checkbox, flag, isTyping } from "./fields.js";
import { brief, bytes, count, counted, money, span, when } from "./format.js";
import { line } from "./said.js";

const PAGE = 80;
const COLUMNS = [
  ["when", "When", (row) => row.ended_ms ?? row.started_ms ?? 0],
  ["project", "Project", (row) => row.project ?? ""],
  ["title", "Session", (row) => row.title || row.name],
  ["agent", "Agent", (row) => row.agent],
  ["messages", "Messages", (row) => row.messages ?? -1],
  ["tokens", "Tokens", (row) => row.tokens ?? -1],
  ["cost", "Cost", (row) => row.cost_usd ?? -1],
  ["saved", "Saved", (row) => row.saved_usd ?? -1],
  ["problems", "Problems", (row) => row.problems ?? -1],
];
const NUMBERS = new Set(["when", "messages", "tokens", "cost", "saved", "problems"]);

class SessionsView extends HTMLElement {
  #rows = [];

  connectedCallback() {
    if (this.table) return;
    const changed = () => this.#changed();
    this.search = h("input", { type: "search", placeholder: "Search title, project, path", "aria-label": "Search sessions", oninput: changed });
    this.agent = h("select", { "aria-label": "Agent", onchange: changed });
    this.project = h("select", { "aria-label": "Project", onchange: changed });
    this.problems = checkbox("Problems", changed);
    this.live = checkbox("Live", changed);
    this.found = h("output", { class: "found", "aria-live": "polite" });
    this.head = h("tr");
    this.body = h("tbody");
    this.table = h("table", { class: "sessions" }, h("thead", {}, this.head), this.body);
    this.more = h("div", { class: "more", "aria-hidden": "true" });
    this.unreadable = h("div");
    this.empty = h("div", { class: "failure", hidden: true });
    const still = { class: "controls", role: "search", onsubmit: (event) => event.preventDefault() };
    const controls = h("form", still, this.search, this.agent, this.project, this.problems.label, this.live.label, this.found);
    this.append(h("h1", { class: "hidden" }, "Sessions"), controls, this.table, this.more, this.empty, this.unreadable);
    new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && this.#add(), { rootMargin: "600px" }).observe(this.more);
    this.keys = (event) => this.#key(event);
  }

  async show(context) {
    this.context = context;
    document.addEventListener("keydown", this.keys);
    if (!this.#rows.length) await this.#load();
    this.#arrange();
  }

  /** The list changed; several changes in a moment are fetched once. */
  grown() {
    this.due ??= setTimeout(async () => {
      this.due = null;
      await this.#load().catch(() => null);
      const focused = this.body.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      this.#arrange(this.body.children.length);
      if (focused) this.body.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    }, 700);
  }

  leave() {
    document.removeEventListener("keydown", this.keys);
  }

  async #load() {
    const { sessions, unreadable, is_complete: isComplete } = await get("sessions");
    this.counting = isComplete ? "" : ", counting…";
    this.#rows = sessions;
    for (const row of sessions) row.words = [row.title, row.project, row.path, row.name, row.agent, ...(row.models ?? [])].join("\n").toLowerCase();
    options(this.agent, "All agents", sessions.map((row) => row.agent));
    options(this.project, "All projects", sessions.map((row) => row.project));
    const problems = unreadable.map(({ name, problem }) => h("li", {}, h("b", {}, line(name, 100)), " ", line(problem, 300)));
    this.table.classList.toggle("unsaved", !sessions.some((row) => row.saved_usd > 0));
    fill(this.unreadable, problems.length ? h("details", { class: "problems" }, h("summary", {}, `${counted(problems.length, "file")} could not be read`), h("ol", {}, problems)) : null);
  }

  #changed() {
    this.context.go("sessions", { text: this.search.value, agent: this.agent.value, project: this.project.value, problems: flag(this.problems), live: flag(this.live) }, { replace: true });
  }

  #arrange(shown = PAGE) {
    const { text = "", agent = "", project = "", problems, live, sort = "-when" } = this.context.params;
    if (document.activeElement !== this.search) this.search.value = text;
    this.agent.value = agent;
    this.project.value = project;
    this.problems.input.checked = Boolean(problems);
    this.live.input.checked = Boolean(live);
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const isOf = (row) => (!agent || row.agent === agent) && (!project || row.project === project);
    const passes = (row) => isOf(row) && (!problems || row.problems) && (!live || row.is_live) && words.every((word) => row.words.includes(word));
    this.listed = this.#rows.filter(passes).sort(order(sort));
    fill(this.head, COLUMNS.map((column) => this.#heading(column, sort)));
    const all = counted(this.#rows.length, "session") + this.counting;
    fill(this.found, this.listed.length === this.#rows.length ? all : `${count(this.listed.length)} of ${all}`);
    fill(this.body, this.listed.slice(0, Math.max(shown, PAGE)).map(sessionRow));
    this.#explain();
  }

  #heading([name, label], sort) {
    const isSorted = sort.replace("-", "") === name;
    const isDown = sort.startsWith("-");
    const next = isSorted ? (isDown ? name : `-${name}`) : NUMBERS.has(name) ? `-${name}` : name;
    const button = h("button", { type: "button", onclick: () => this.context.go("sessions", { sort: next }, { replace: true }) }, label, isSorted ? (isDown ? " ↓" : " ↑") : "");
    return h("th", { class: name, scope: "col", "aria-sort": isSorted ? (isDown ? "descending" : "ascending") : null }, button);
  }

  #add() {
    const shown = this.body.children.length;
    this.body.append(...(this.listed ?? []).slice(shown, shown + PAGE).map(sessionRow));
  }

  #explain() {
    this.table.hidden = !this.listed.length;
    this.empty.hidden = this.listed.length > 0;
    if (this.#rows.length) return fill(this.empty, h("p", {}, "No session passes these filters."));
    return fill(
      this.empty,
      h("h2", {}, "No sessions yet"),
      h("p", {}, "Sessions of agents on this computer appear here by themselves. To look at others, name a file, a folder or an address:"),
      h("pre", { class: "pre" }, "redline serve ~/sessions"),
      h("p", {}, "To have Redline at work in one:"),
      h("pre", { class: "pre" }, "redline run claude"),
    );
  }

  #key(event) {
    if (event.key !== "/" || isTyping(event)) return;
    event.preventDefault();
    this.search.focus();
  }
}

function options(select, all, values) {
  const names = [...new Set(values.filter(Boolean))].sort();
  fill(select, h("option", { value: "" }, all), names.map((name) => h("option", { value: name }, line(name, 60))));
  select.hidden = names.length < 2;
}

function order(sort) {
  const [, , value] = COLUMNS.find(([name]) => name === sort.replace("-", "")) ?? COLUMNS[0];
  const sign = sort.startsWith("-") ? -1 : 1;
  return (a, b) => sign * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
}

function sessionRow(row) {
  const timeMs = row.ended_ms ?? row.started_ms;
  const live = row.is_live ? h("span", { class: "dot connected", role: "img", "aria-label": "live" }) : null;
  const counting = row.is_pending ? h("span", { class: "hidden" }, "being counted") : null;
  const number = (name, value) => h("td", { class: `${name}${counting ? " pending" : ""}`, "data-label": name }, counting ?? value);
  const project = row.project ? h("span", { title: row.project }, line(row.project.split(/[\\/]/).filter(Boolean).at(-1) ?? row.project, 40)) : null;
  return h(
    "tr",
    {},
    h("td", { class: "when" }, live, timeMs ? h("time", { title: when(timeMs) }, `${span(Date.now() - timeMs)} ago`) : null),
    h("td", { class: "project" }, project),
    h("td", { class: "title" }, h("a", { href: `/s/${encodeURIComponent(row.id)}`, title: `${row.path}, ${bytes(row.bytes)}` }, line(row.title || row.name, 140))),
    h("td", { class: "agent" }, line(row.agent, 30)),
    number("messages", count(row.messages)),
    number("tokens", brief(row.tokens)),
    number("cost", money(row.cost_usd)),
    number("saved", row.saved_usd > 0 ? money(row.saved_usd) : ""),
    number("problems", row.problems ? h("strong", {}, count(row.problems)) : ""),
  );
}

customElements.define("redline-sessions", SessionsView);
