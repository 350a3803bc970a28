// The shell: which address shows which view, the top of the page, the status line, and what the server tells while it is open.
import { get, listen } from "./api.js";
import { button, fill, h, isThere } from "./dom.js";
import { onKeys } from "./fields.js";
import { line } from "./said.js";
import { sessionHeader, TABS } from "./session-header.js";

const KEPT = ["conversation", "policy"]; // parameters that go along from view to view
const THEMES = { auto: "◐", light: "☀", dark: "☾" };
const KEYS = {
  "/": "Search",
  "j k": "Next message, message before",
  Enter: "Open or fold the message",
  "n N": "Next hit, hit before",
  s: "Next strike",
  "[ ]": "Request before, next request",
  G: "To the end",
  "?": "This list",
};

const address = new URL(location); // the cookie lets this page in from now on: nobody needs to see, keep or share the token
if (address.searchParams.has("token")) {
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
}

const root = document.documentElement;
const [top, main, status] = ["top", "main", "status"].map((id) => document.getElementById(id));
const dot = h("span.dot", { role: "img", "aria-label": "connecting" });
const place = h("div", { id: "place" });
const theme = button("", () => choose(Object.keys(THEMES)[(Object.keys(THEMES).indexOf(root.dataset.theme) + 1) % 3]), { class: "quiet" });
let shown = null; // the context of the view in sight, with its element

function readAddress() {
  const [, id, view] = /^\/s\/([^/]+)(?:\/([^/]+))?/.exec(location.pathname) ?? [];
  const params = Object.fromEntries(new URLSearchParams(location.search));
  return { id, view: id ? (Object.hasOwn(TABS, view) ? view : "conversation") : "sessions", params };
}

function kept(params) {
  return Object.fromEntries(Object.entries(params).filter(([name]) => KEPT.includes(name)));
}

/** The address of a view of the session in sight; parameters of the same view are kept, null removes one. */
function href(view, params = {}) {
  const { id, ...present } = readAddress();
  const all = { ...(view === present.view ? present.params : kept(present.params)), ...params };
  const query = new URLSearchParams(Object.entries(all).filter(([, value]) => isThere(value) && value !== "")).toString();
  return (view === "sessions" ? "/" : `/s/${id}${view === "conversation" ? "" : `/${view}`}`) + (query && `?${query}`);
}

function go(view, params, options) {
  open(href(view, params), options);
}

function open(address, { replace = false } = {}) {
  if (address !== location.pathname + location.search) history[replace ? "replaceState" : "pushState"](null, "", address);
  show();
}

async function show() {
  const route = readAddress();
  const { id, view } = route;
  const query = kept(route.params);
  const key = JSON.stringify([id, query]);
  const turn = (show.turn = {});
  const busy = setTimeout(() => document.body.classList.add("busy"), 150);
  try {
    const wanted = shown?.key === key ? shown.session : id && get(`sessions/${id}`, query);
    const [session] = await Promise.all([wanted, import(`./${view}-view.js`)]);
    if (turn !== show.turn) return;
    const element = shown?.view === view ? shown.element : mounted(view);
    shown = { ...route, key, session, element, go, href, say, query: () => ({ ...query }) };
    document.title = session ? `${session.title || session.name} · Redline` : "Redline";
    drawHeader(shown);
    if (session?.is_pending) growIn(1000);
    await element.show(shown);
  } catch (problem) {
    if (turn === show.turn) failed(problem);
  } finally {
    clearTimeout(busy);
    if (turn === show.turn) document.body.classList.remove("busy");
  }
}

function drawHeader(context) {
  fill(place, context.session && sessionHeader(context));
  place.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

function mounted(view) {
  shown?.element.leave();
  const element = h(`redline-${view}.view`);
  fill(main, element);
  return element;
}

function failed({ message }) {
  shown?.element.leave();
  shown = null;
  fill(place);
  fill(main, h("div.failure", { role: "alert" }, h("h1", "This cannot be shown"), h("p", line(message, 600)), h("a", { href: "/" }, "All sessions")));
}

function say(words, { isProblem = false } = {}) {
  fill(status, h("p", { class: isProblem && "problem" }, line(words, 400)));
  clearTimeout(say.timer);
  say.timer = setTimeout(fill, isProblem ? 9000 : 4000, status);
}

function heard(name, data) {
  if (name === "sessions") shown?.view === "sessions" && shown.element.grown();
  else if (name === "session") shown?.session?.id === data.id && growIn(250);
  else {
    dot.className = `dot ${name === "open" ? "connected" : "disconnected"}`;
    dot.ariaLabel = dot.title = name === "open" ? "Live: what grows is shown at once" : "The server does not answer";
  }
}

function growIn(ms) {
  grow.due ??= setTimeout(grow, ms);
}

async function grow() {
  grow.due = null;
  const context = shown;
  const before = context?.session;
  const session = before && (await get(`sessions/${before.id}`, context.query()).catch(() => null));
  if (!session || shown !== context) return;
  context.session = session;
  drawHeader(context);
  if (session.is_pending) growIn(1000);
  if (session.version !== before.version || session.is_pending !== before.is_pending) context.element.grown({ session, before });
}

function help() {
  const keys = Object.entries(KEYS).map(([key, what]) => [h("dt", key.split(" ").map((one) => h("kbd", one))), h("dd", what)]);
  const dialog = h("dialog", { "aria-label": "Keys", onclose: () => dialog.remove() }, h("dl", keys), button("Close", () => dialog.close()));
  document.body.append(dialog);
  dialog.showModal();
}

function choose(name) {
  localStorage.setItem("redline-theme", (root.dataset.theme = name));
  theme.textContent = THEMES[name];
  theme.ariaLabel = theme.title = `Colours: ${name}`;
}

choose(root.dataset.theme);
fill(
  top,
  h("div.brand", h("a", { href: "/", "aria-label": "Redline: all sessions" }, h("s", "Red"), "line"), dot),
  place,
  h("div.buttons", theme, button("?", help, { class: "quiet", "aria-label": "Keys" })),
);
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  open(link.getAttribute("href"));
});
onKeys(() => ({ "?": help }));
addEventListener("popstate", show);
listen(heard);
show();
