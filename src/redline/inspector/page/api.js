// The server's answers. What goes wrong is an Error whose message can be shown as it is.
import { isThere } from "./dom.js";

export function get(path, parameters, { signal } = {}) {
  return ask(path, parameters, { signal });
}

export function post(path, body, parameters, { signal } = {}) {
  const token = document.querySelector('meta[name="redline-token"]').content;
  const headers = { "Content-Type": "application/json", "X-Redline-Token": token };
  return ask(path, parameters, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Calls `on(name, data)` for what the server tells, and for "open" and "error"; the browser connects again by itself. */
export function listen(on) {
  const source = new EventSource("/api/events");
  for (const name of ["sessions", "session", "open", "error"]) {
    source.addEventListener(name, ({ data }) => on(name, data && JSON.parse(data)));
  }
}

async function ask(path, parameters = {}, options) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => isThere(value)));
  const response = await fetch(`/api/${path}?${query}`, options).catch((problem) => {
    throw problem.name === "AbortError" ? problem : new Error("The server does not answer. Is `redline serve` still running?");
  });
  const found = await response.json().catch(() => null);
  if (!response.ok) throw new Error(found?.error ?? `The server answered ${response.status}.`);
  return found;
}
