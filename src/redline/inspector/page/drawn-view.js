// What timeline, branches, compare and what if have in common: asking, leaving, going on to the conversation.

import { fill, h } from "./dom.js";

const PAUSE_MS = 150;

/** A view says what it depends on (`wanted`), how it asks (`ask`) and what becomes of the answer (`place`). */
export class DrawnView extends HTMLElement {
  #shown = null;
  #asking = null;
  #timer = 0;

  show(context) {
    this.context = context;
    if (this.#key() !== this.#shown) this.load();
  }

  #key() {
    return JSON.stringify([this.context.session.id, this.wanted()]);
  }

  wanted() {
    return this.context.query();
  }

  grown({ session }) {
    this.context = { ...this.context, session };
    this.load();
  }

  leave() {
    this.#asking?.abort();
    clearTimeout(this.#timer);
    this.#shown = null;
  }

  /** Asks the server, and says whether there was an answer; of several questions only the newest gets one. */
  async load() {
    this.leave();
    this.#shown = this.#key();
    const { signal } = (this.#asking = new AbortController());
    try {
      const found = await this.ask(`sessions/${this.context.session.id}`, { signal });
      if (!signal.aborted) this.place(found);
      return !signal.aborted;
    } catch (problem) {
      if (!signal.aborted) this.fail(problem);
      return false;
    }
  }

  fail(problem) {
    this.say(h("span", { class: "problem", role: "alert" }, problem.message));
  }

  /** A sentence in the place of the view. */
  say(...words) {
    fill(this, h("p", { class: "quiet" }, words));
  }

  /** Asks anew with other parameters, once nothing was changed for a moment. What could be answered goes into the address. */
  change(params) {
    this.context = { ...this.context, params: { ...this.context.params, ...params } };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      if (await this.load()) this.context.go(this.context.view, this.context.params, { replace: true });
    }, PAUSE_MS);
  }

  /** Opens the conversation at a message or a request. */
  open(params) {
    this.context.go("conversation", params);
  }
}

export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

export function link(text, onclick) {
  return button(text, onclick, { class: "link" });
}

/** Rows of a table: the first cell of each is its heading. */
export function table(className, heads, rows) {
  const boxed = (cell, at) => (at ? h("td", {}, cell) : h("th", { scope: "row" }, cell));
  const cells = (row) => row.map((cell, at) => (cell instanceof HTMLTableCellElement ? cell : boxed(cell, at)));
  return h(
    "table",
    { class: className },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, cells(row)))),
  );
}
