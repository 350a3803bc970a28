// The messages of a conversation that were fetched, and those that are wanted next.
import { get } from "./api.js";

const MOST_KEPT = 2_000;

export class MessageStore {
  messages = new Map();
  coming = new Set();

  constructor(path, query, arrived, failed) {
    Object.assign(this, { path, query, arrived, failed });
  }

  forget(from) {
    for (const index of this.messages.keys()) if (index >= from) this.messages.delete(index);
  }

  /** Fetches what is not here; of the wishes of a moment only the latest counts. */
  want(indices) {
    clearTimeout(this.timer);
    const missing = indices.filter((index) => !this.messages.has(index) && !this.coming.has(index));
    if (missing.length) this.timer = setTimeout(() => this.fetch(missing), 30);
  }

  async fetch(indices) {
    for (const index of indices) this.coming.add(index);
    try {
      const { messages } = await get(`${this.path}/messages`, { ...this.query, indices: indices.join() });
      for (const message of messages) this.messages.set(message.index, message);
      for (const index of [...this.messages.keys()].slice(0, -MOST_KEPT)) this.messages.delete(index);
      this.arrived(new Set(indices));
    } catch (problem) {
      this.failed(problem);
    }
    for (const index of indices) this.coming.delete(index);
  }
}

/** All indices in runs of them: [[3, 5], [7, 8]] are 3, 4 and 7. */
export function indicesOf(runs) {
  return runs.flatMap(([from, to]) => Array.from({ length: to - from }, (_, place) => from + place));
}
