// What timeline, branches, compare and what if share: asking, leaving, going on to the conversation, and small pieces.
import { button, fill, h } from "./dom.js";

export * from "./api.js";
export * from "./dom.js";
export * from "./format.js";
export * from "./said.js";
export const link = (text, onclick) => button(text, onclick, { class: "link" });
export const strong = (...words) => h("strong", words);
export const fold = (name, ...content) => h("details", h("summary", name), content);
export const facts = (rows) => rows.map(([name, value]) => h("div", h("dt", name), h("dd", value)));

/** The first cell of each row is its heading. */
export function table(className, heads, rows) {
  const boxed = (cell, at) => (cell instanceof HTMLTableCellElement ? cell : at ? h("td", cell) : h("th", { scope: "row" }, cell));
  const head = h("thead", h("tr", heads.map((one) => h("th", { scope: "col" }, one))));
  return h("table", { class: className }, head, h("tbody", rows.map((row) => h("tr", row.map(boxed)))));
}

/** A view says what it depends on (`wanted`), how it asks (`ask`) and what becomes of the answer (`place`). */
export class DrawnView extends HTMLElement {
  said = h("p.said", { role: "status", tabindex: -1 });

  show(context) {
    this.context = context;
    if (this.key() !== this.shown) this.load();
  }

  key() {
    return JSON.stringify([this.context.session.id, this.wanted()]);
  }

  wanted() {
    return this.context.query();
  }

  grown({ session }) {
    this.context.session = session;
    this.load();
  }

  leave() {
    this.asking?.abort();
    clearTimeout(this.timer);
    this.shown = null;
  }

  /** Whether there was an answer; of several questions only the newest gets one. */
  async load() {
    this.leave();
    this.shown = this.key();
    const { signal } = (this.asking = new AbortController());
    try {
      const found = await this.ask(`sessions/${this.context.session.id}`, { signal });
      if (!signal.aborted) this.place(found);
      return !signal.aborted;
    } catch (problem) {
      if (!signal.aborted) this.fail(problem);
    }
  }

  fail({ message }) {
    if (!this.said.isConnected) this.say();
    fill(this.said, h("span.problem", message));
  }

  /** A sentence in the place of the view. */
  say(words) {
    fill(this, fill(this.said, words));
  }

  /** Asks anew, once nothing was changed for a moment. What could be answered goes into the address. */
  change(changed) {
    const { go, view, params } = this.context;
    Object.assign(params, changed);
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => (await this.load()) && go(view, params, { replace: true }), 150);
  }

  open(params) {
    this.context.go("conversation", params);
  }
}
