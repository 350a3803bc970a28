// The sessions that were found: searched (also in what was said), filtered and sorted; rows are added as one scrolls.
import { get } from "./api.js";
import { button, fill, h } from "./dom.js";
import { checkbox, choose, chosen, found, offer, onKeys, search, select } from "./fields.js";
import { brief, bytes, count, counted, money, span, when } from "./format.js";
import { line } from "./said.js";
import { problems } from "./session-header.js";

const PAGE = 80;
const NAMES = ["project", "title", "agent"]; // sorted from A to Z at first; numbers from the largest
const timeOf = (row) => row.ended_ms ?? row.started_ms ?? 0;
const number = (label, name, show) => [label, (row) => row[name] ?? -1, (row) => show(row[name])];
const live = () => h("span.dot.connected", { role: "img", "aria-label": "live" });
// of requests that were only observed nothing was saved; a loss is shown with its sign
const savedOf = (row) => (row.is_observed ? null : row.saved_usd);
// what the agent's own hook saved, measured in characters, so its tokens are an estimate
const hooksTitle = (row) => `${counted(row.hook_folds, "output")} folded by the agent's hook; tokens estimated from the characters it measured`;
const hooksCell = (row) => row.hook_folds > 0 && h("span", { title: hooksTitle(row) }, `−${brief(row.hook_saved_tokens)} tokens`);
// a column's label, what it is sorted by, what it shows
const COLUMNS = {
  when: ["When", timeOf, (row) => [row.is_live && live(), h("time", { title: when(timeOf(row)) }, `${span(Date.now() - timeOf(row))} ago`)]],
  project: ["Project", (row) => row.project ?? "", (row) => h("span", { title: row.project }, line(row.project?.split(/[\\/]/).filter(Boolean).at(-1), 40))],
  title: ["Session", titleOf, sessionLink],
  agent: ["Agent", (row) => row.agent, (row) => line(row.agent, 30)],
  messages: number("Messages", "messages", count),
  tokens: number("Tokens", "tokens", brief),
  cost: number("Cost", "cost_usd", money),
  saved: ["Saved", (row) => savedOf(row) ?? -Infinity, (row) => Boolean(savedOf(row)) && money(savedOf(row))],
  hooks: ["By hooks", (row) => row.hook_saved_tokens ?? -1, hooksCell],
  problems: number("Problems", "problems", (found) => found > 0 && h("strong", count(found))),
};

const START = [
  h("h2", "No sessions yet"),
  h("p", "Sessions of agents on this computer appear here by themselves. To look at others, name a file, a folder or an address:"),
  h("pre.pre", "redline serve ~/sessions"),
  h("p", "To have Redline at work in one:"),
  h("pre.pre", "redline run claude"),
];

class SessionsView extends HTMLElement {
  rows = [];
  said = { text: "", found: {} }; // which sessions have the text that is searched for in what was said

  connectedCallback() {
    this.search = search("Search sessions", "Search title, project, what was said");
    this.agent = select("agent", "Agent");
    this.project = select("project", "Project");
    this.found = found();
    [this.head, this.body, this.end, this.empty, this.unreadable] = ["tr", "tbody", "div", "div.failure", "div"].map((tag) => h(tag));
    this.table = h("table.sessions", h("thead", this.head), this.body);
    const filter = () => this.context.go("sessions", chosen(this.form), { replace: true });
    const fields = [this.search, this.agent, this.project, checkbox("problems", "Problems"), checkbox("live", "Live"), this.found];
    this.form = h("form.controls", { role: "search", oninput: filter, onsubmit: (event) => event.preventDefault() }, fields);
    this.append(h("h1.hidden", "Sessions"), this.form, this.table, this.end, this.empty, this.unreadable);
    new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && this.add(), { rootMargin: "600px" }).observe(this.end);
    this.leave = onKeys(() => ({ "/": () => this.search.focus() }));
  }

  async show(context) {
    this.context = context;
    if (!this.rows.length) await this.load();
    this.arrange();
    this.look();
  }

  /** Asks which sessions have the text, a moment after it was typed; again while the server is still reading them. */
  look(delay = 150) {
    const { text = "" } = this.context.params;
    clearTimeout(this.looking);
    if (this.said.text === text && this.said.is_complete !== false) return;
    this.looking = setTimeout(async () => {
      const found = text.trim().length > 1 && (await get("search", { text }).catch(() => null));
      if ((this.context.params.text ?? "") !== text) return;
      this.said = { found: {}, ...found, text };
      this.arrange(this.body.children.length);
      if (found && !found.is_complete) this.look(2000);
    }, delay);
  }

  grown() {
    this.due ??= setTimeout(async () => {
      this.due = null;
      await this.load().catch(() => null);
      this.arrange(this.body.children.length);
    }, 700);
  }

  async load() {
    const { sessions, unreadable, is_complete: isComplete } = await get("sessions");
    this.rows = sessions;
    this.counting = isComplete ? "" : ", counting…";
    for (const row of sessions) row.words = [row.title, row.project, row.path, row.name, row.short_name, row.agent, row.models].join("\n").toLowerCase();
    offer(this.agent, "All agents", sessions.map(({ agent }) => agent));
    offer(this.project, "All projects", sessions.map(({ project }) => project));
    this.table.classList.toggle("unsaved", !sessions.some(savedOf));
    fill(this.unreadable, problems("file", " could not be read", unreadable, ({ name, problem }) => [h("b", line(name, 100)), " ", line(problem, 300)]));
  }

  /** Draws the table again; a heading or a session that has the keyboard's focus keeps it. */
  arrange(shown = 0) {
    const focused = this.table.contains(document.activeElement) && document.activeElement.dataset.key;
    const { text = "", agent, project, problems, live, sort = "-when" } = this.context.params;
    choose(this.form, this.context.params);
    const words = text.toLowerCase().split(/\s+/);
    const isOf = (row) => (!agent || row.agent === agent) && (!project || row.project === project);
    const passes = (row) => isOf(row) && (!problems || row.problems) && (!live || row.is_live) && (words.every((word) => row.words.includes(word)) || row.said);
    for (const row of this.rows) row.said = this.said.text === text && this.said.found[row.id];
    this.listed = this.rows.filter(passes).sort(order(sort));
    fill(this.head, Object.keys(COLUMNS).map((name) => this.heading(name, sort)));
    const all = counted(this.rows.length, "session") + this.counting;
    const unread = text && this.said.missing ? `, ${counted(this.said.missing, "session")} ${this.said.is_complete ? "without full text" : "still to read"}` : "";
    fill(this.found, this.listed.length === this.rows.length ? all : `${count(this.listed.length)} of ${all}${unread}`);
    fill(this.body, this.listed.slice(0, Math.max(shown, PAGE)).map(sessionRow));
    if (focused) this.table.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    this.empty.hidden = this.listed.length;
    this.table.hidden = !this.listed.length;
    fill(this.empty, this.rows.length ? h("p", "No session passes these filters.") : START);
  }

  heading(name, sort) {
    const isSorted = sort.replace("-", "") === name;
    const isDown = sort[0] === "-";
    const next = (isSorted ? isDown : NAMES.includes(name)) ? name : `-${name}`;
    const [label] = COLUMNS[name];
    const turn = button([label, isSorted && (isDown ? " ↓" : " ↑")], () => this.context.go("sessions", { sort: next }, { replace: true }), { "data-key": name });
    return h("th", { class: name, scope: "col", "aria-sort": isSorted && (isDown ? "descending" : "ascending") }, turn);
  }

  add() {
    const shown = this.body.children.length;
    this.body.append(...(this.listed ?? []).slice(shown, shown + PAGE).map(sessionRow));
  }
}

function order(sort) {
  const [, value] = COLUMNS[sort.replace("-", "")] ?? COLUMNS.when;
  const sign = sort[0] === "-" ? -1 : 1;
  return (a, b) => sign * (Number(value(a) > value(b)) - Number(value(a) < value(b)));
}

function titleOf(row) {
  return row.title || row.name;
}

function sessionLink(row) {
  const link = h("a", { href: `/s/${row.id}`, "data-key": row.id, title: `${row.short_name} ${row.path}, ${bytes(row.bytes)}` }, line(titleOf(row), 140));
  const { matches, excerpt } = row.said || {};
  return [link, excerpt && excerpt !== row.title && h("p.excerpt", line(excerpt, 160), ` (${counted(matches, "message")})`)];
}

function sessionRow(row) {
  const isPending = (at) => row.is_pending && at > 3;
  const cell = ([name, [, , shown]], at) => h(`td.${name}${isPending(at) ? ".pending" : ""}`, { "data-label": at > 3 && name }, isPending(at) ? h("span.hidden", "being counted") : shown(row));
  return h("tr", Object.entries(COLUMNS).map(cell));
}

customElements.define("redline-sessions", SessionsView);
