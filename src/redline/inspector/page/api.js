// The server's answers. What goes wrong is an Error whose message can be shown as it is.

const token = document.querySelector('meta[name="redline-token"]')?.content ?? "";

/** The answer to GET /api/PATH. Parameters that are null or undefined are left out. */
export function get(path, parameters = {}, { signal } = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined) query.set(name, value);
  }
  const text = query.toString();
  return answer(fetch(`/api/${path}${text ? `?${text}` : ""}`, { signal }));
}

/** The answer to POST /api/PATH with a JSON body. */
export function post(path, body, parameters = {}, { signal } = {}) {
  const query = new URLSearchParams(parameters).toString();
  return answer(
    fetch(`/api/${path}${query ? `?${query}` : ""}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Redline-Token": token },
      body: JSON.stringify(body),
      signal,
    }),
  );
}

/** Calls `on(name, data)` for each event of the server; the browser connects again by itself. */
export function listen(on) {
  const source = new EventSource("/api/events");
  for (const name of ["sessions", "session"]) {
    source.addEventListener(name, (event) => on(name, JSON.parse(event.data)));
  }
  source.addEventListener("open", () => on("connected", {}));
  source.addEventListener("error", () => on("disconnected", {}));
  return source;
}

async function answer(pending) {
  let response;
  try {
    response = await pending;
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Error("The server does not answer. Is `redline serve` still running?");
  }
  const found = await response.json().catch(() => null);
  if (!response.ok) throw new Error(found?.error ?? `The server answered ${response.status}.`);
  return found;
}
