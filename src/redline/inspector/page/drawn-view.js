// What timeline, branches, compare and what if share: asking, leaving, going on to the conversation, and small pieces.
import { fill, h } from "./dom.js";

/** A view says what it depends on (`wanted`), how it asks (`ask`) and what becomes of the answer (`place`). */
export class DrawnView extends HTMLElement {
  said = h("p.said", { role: "status", tabindex: -1 });

  show(context) {
    this.context = context;
    if (this.#key() !== this.shown) this.load();
  }

  #key() {
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

  /** Asks the server, and says whether there was an answer; of several questions only the newest gets one. */
  async load() {
    this.leave();
    this.shown = this.#key();
    const { signal } = (this.asking = new AbortController());
    try {
      const found = await this.ask(`sessions/${this.context.session.id}`, { signal });
      if (!signal.aborted) this.place(found);
    } catch (problem) {
      if (!signal.aborted) this.fail(problem);
      return false;
    }
    return !signal.aborted;
  }

  fail({ message }) {
    if (!this.said.isConnected) this.say();
    fill(this.said, h("span.problem", message));
  }

  /** A sentence in the place of the view. */
  say(words) {
    fill(this, fill(this.said, words));
  }

  /** Asks anew with other parameters, once nothing was changed for a moment. What could be answered goes into the address. */
  change(params) {
    const { go, view, params: all } = this.context;
    Object.assign(all, params);
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => (await this.load()) && go(view, all, { replace: true }), 150);
  }

  /** Opens the conversation at a message or a request. */
  open(params) {
    this.context.go("conversation", params);
  }
}

export function button(text, onclick, attributes) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

export function link(text, onclick) {
  return button(text, onclick, { class: "link" });
}

export function strong(...words) {
  return h("strong", words);
}

export function fold(name, ...content) {
  return h("details", h("summary", name), content);
}

/** What `dl` holds for [[name, value], …]. */
export function facts(rows) {
  return rows.map(([name, value]) => h("div", h("dt", name), h("dd", value)));
}

/** Rows of a table: the first cell of each is its heading. */
export function table(className, heads, rows) {
  const boxed = (cell, at) => (cell instanceof HTMLTableCellElement ? cell : at ? h("td", cell) : h("th", { scope: "row" }, cell));
  const head = h("tr", heads.map((one) => h("th", { scope: "col" }, one)));
  return h("table", { class: className }, h("thead", head), h("tbody", rows.map((row) => h("tr", row.map(boxed)))));
}
