// The messages of a conversation that were fetched, and those that are wanted next.
import { get } from "./api.js";

const MOST_KEPT = 2_000;
const AT_ONCE = 60;
const MOST_CALLS = 3;

/** `arrived(indices)` is called when messages came, `failed(problem)` when they did not. */
export class MessageStore {
  messages = new Map();
  coming = new Set();
  wanted = [];
  calls = 0;

  constructor(path, query, arrived, failed) {
    Object.assign(this, { path, query, arrived, failed });
  }

  /** Forgets messages from an index on, because the session grew or was changed. */
  forget(from) {
    for (const index of this.messages.keys()) if (index >= from) this.messages.delete(index);
  }

  /** Fetches what is not here; the latest wish replaces the earlier ones that were not sent yet. */
  want(indices) {
    this.wanted = indices.filter((index) => !this.messages.has(index) && !this.coming.has(index));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetch(), 30);
  }

  async fetch() {
    if (!this.wanted.length || this.calls >= MOST_CALLS) return;
    const indices = this.wanted.splice(0, AT_ONCE);
    for (const index of indices) this.coming.add(index);
    this.calls += 1;
    try {
      const { messages } = await get(`${this.path}/messages`, { ...this.query, indices: indices.join() });
      for (const message of messages) this.messages.set(message.index, message);
      for (const index of [...this.messages.keys()].slice(0, -MOST_KEPT)) this.messages.delete(index);
      this.arrived(new Set(indices));
    } catch (problem) {
      this.failed(problem);
    }
    for (const index of indices) this.coming.delete(index);
    this.calls -= 1;
    this.fetch();
  }
}

/** All indices in runs of them: [[3, 5], [7, 8]] are 3, 4 and 7. */
export function indicesOf(runs) {
  return runs.flatMap(([from, to]) => Array.from({ length: to - from }, (_, place) => from + place));
}
