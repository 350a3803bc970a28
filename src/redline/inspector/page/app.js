// The shell: which address shows which view, the top of the page, the status line, and what the server tells while it is open.
import { get, listen } from "./api.js";
import { fill, h } from "./dom.js";
import { isTyping } from "./fields.js";
import { line } from "./said.js";
import { sessionHeader } from "./session-header.js";

const VIEWS = {
  sessions: () => import("./sessions-view.js"),
  conversation: () => import("./conversation-view.js"),
  timeline: () => import("./timeline-view.js"),
  branches: () => import("./branches-view.js"),
  compare: () => import("./compare-view.js"),
  "what-if": () => import("./what-if-view.js"),
};
const KEPT = ["conversation", "policy"];
const KEYS = [
  ["/", "Search"],
  ["j  k", "Next message, message before"],
  ["Enter", "Open or fold the message"],
  ["n  N", "Next hit, hit before"],
  ["s", "Next strike"],
  ["[  ]", "Request before, next request"],
  ["G", "To the end"],
  ["?", "This list"],
];
const THEMES = { auto: "◐", light: "☀", dark: "☾" };

const main = document.getElementById("main");
const status = document.getElementById("status");
const dot = h("span", { class: "dot", role: "img", "aria-label": "connecting" });
const place = h("div", { id: "place" });
let shown = null; // {route, session, element, context}

/** /s/ID/VIEW?… as {id, view, params} */
function readAddress() {
  const [, id, view] = /^\/s\/([^/]+)(?:\/([^/]+))?/.exec(location.pathname) ?? [];
  const params = Object.fromEntries(new URLSearchParams(location.search));
  return { id, view: id ? (view in VIEWS ? view : "conversation") : "sessions", params };
}

/** The address of a view of the session in sight; parameters of the same view are kept, null removes one. */
function address(view, params = {}) {
  const { id, view: present, params: before } = readAddress();
  const kept = view === present ? before : Object.fromEntries(KEPT.filter((name) => name in before).map((name) => [name, before[name]]));
  const all = Object.entries({ ...kept, ...params }).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const path = view === "sessions" ? "/" : `/s/${id}${view === "conversation" ? "" : `/${view}`}`;
  const query = new URLSearchParams(all).toString();
  return query ? `${path}?${query}` : path;
}

function go(view, params, { replace = false } = {}) {
  open(address(view, params), replace);
}

function open(href, replace = false) {
  if (href !== location.pathname + location.search) history[replace ? "replaceState" : "pushState"](null, "", href);
  show();
}

async function show() {
  const route = readAddress();
  const query = Object.fromEntries(KEPT.filter((name) => name in route.params).map((name) => [name, route.params[name]]));
  const context = { ...route, session: null, go, href: address, say, query: () => ({ ...query }) };
  const turn = (show.turn = {});
  const busy = setTimeout(() => document.body.classList.add("busy"), 150);
  try {
    const isSame = shown && shown.route.id === route.id && JSON.stringify(shown.query) === JSON.stringify(query);
    const [session] = await Promise.all([isSame ? shown.session : route.id ? get(`sessions/${route.id}`, query) : null, VIEWS[route.view]()]);
    if (turn !== show.turn) return;
    context.session = session;
    const element = shown?.route.view === route.view ? shown.element : mounted(route.view);
    shown = { route, query, session, element, context };
    document.title = session ? `${session.title || session.name} · Redline` : "Redline";
    fill(place, session ? sessionHeader(context) : null);
    if (session?.is_pending) grown.due ??= setTimeout(grown, 1000, { id: session.id });
    await element.show(context);
  } catch (problem) {
    if (turn === show.turn) failed(problem);
  } finally {
    clearTimeout(busy);
    if (turn === show.turn) document.body.classList.remove("busy");
  }
}

function mounted(view) {
  shown?.element?.leave?.();
  const element = h(`redline-${view}`, { class: "view" });
  fill(main, element);
  return element;
}

function failed(problem) {
  shown?.element?.leave?.();
  shown = null;
  fill(place);
  const words = [h("h1", {}, "This cannot be shown"), h("p", {}, line(problem.message, 600)), h("a", { href: "/" }, "All sessions")];
  fill(main, h("div", { class: "failure", role: "alert" }, words));
}

/** Says something for a few seconds, aloud for screen readers. */
function say(words, { isProblem = false } = {}) {
  fill(status, h("p", { class: isProblem ? "problem" : "" }, line(words, 400)));
  clearTimeout(say.timer);
  say.timer = setTimeout(() => fill(status), isProblem ? 9000 : 4000);
}

async function heard(name, data) {
  if (name === "connected" || name === "disconnected") {
    dot.className = `dot ${name}`;
    dot.setAttribute("aria-label", dot.title = name === "connected" ? "Live: what grows is shown at once" : "The server does not answer");
  } else if (name === "sessions" && shown?.route.view === "sessions") shown.element.grown?.(data);
  else if (name === "session" && shown?.session?.id === data.id) grown.due ??= setTimeout(grown, 250, data);
}

async function grown(event) {
  grown.due = null;
  const { route, query, session: before } = shown ?? {};
  if (route?.id !== event.id) return;
  const session = await get(`sessions/${route.id}`, query).catch(() => null);
  if (!session || shown?.session !== before) return;
  shown.session = shown.context.session = session;
  fill(place, sessionHeader(shown.context));
  if (session.is_pending) grown.due ??= setTimeout(grown, 1000, event);
  if (session.version === before.version && session.is_pending === before.is_pending) return;
  shown.element.grown?.({ ...event, session, before });
}

function help() {
  const keys = KEYS.map(([key, what]) => [h("dt", {}, key.split("  ").map((one) => h("kbd", {}, one))), h("dd", {}, what)]);
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog", { "aria-label": "Keys", onclose: () => dialog.remove() }, h("h2", {}, "Keys"), h("dl", {}, keys), close);
  document.body.append(dialog);
  dialog.showModal();
}

function themeButton() {
  const root = document.documentElement;
  const button = h("button", { class: "quiet", type: "button", onclick: () => choose(following(root.dataset.theme)) });
  const following = (theme) => Object.keys(THEMES)[(Object.keys(THEMES).indexOf(theme) + 1) % 3];
  const choose = (theme) => {
    root.dataset.theme = theme;
    localStorage.setItem("redline-theme", theme);
    button.textContent = THEMES[theme] ?? THEMES.auto;
    button.setAttribute("aria-label", button.title = `Colours: ${theme}`);
  };
  choose(root.dataset.theme);
  return button;
}

fill(
  document.getElementById("top"),
  h("div", { class: "brand" }, h("a", { href: "/", "aria-label": "Redline: all sessions" }, h("s", {}, "Red"), "line"), dot),
  place,
  h("div", { class: "buttons" }, themeButton(), h("button", { class: "quiet", type: "button", "aria-label": "Keys", onclick: help }, "?")),
);
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || link.target || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  open(link.getAttribute("href"));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "?" && !isTyping(event)) help();
});
addEventListener("popstate", show);
listen(heard);
show();
