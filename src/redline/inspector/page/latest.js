// Of several questions to the server only the newest is answered.

export class Latest {
  #running = null;

  /** What `work(signal)` gives, or undefined when a later question took its place. */
  async ask(work) {
    this.stop();
    const { signal } = (this.#running = new AbortController());
    try {
      const found = await work(signal);
      return signal.aborted ? undefined : found;
    } catch (problem) {
      if (signal.aborted) return undefined;
      throw problem;
    }
  }

  stop() {
    this.#running?.abort();
  }
}
