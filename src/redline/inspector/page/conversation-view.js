// The conversation: all messages, or exactly those of one request, with what is struck; searched, filtered and followed as it grows.
import { get, post } from "./api.js";
import { fill, h } from "./dom.js";
import { isTyping } from "./fields.js";
import { counted } from "./format.js";
import "./find-bar.js";
import { indicesOf, MessageStore } from "./message-store.js";
import { messageView, roleOf } from "./message-view.js";
import "./request-slider.js";
import { said } from "./said.js";
import { inForce } from "./strike-card.js";
import "./virtual-list.js";

const FILTERS = ["kind", "tool", "struck", "error"];
const CHANGED_BEHIND = 40; // messages before new ones that may have changed: calls get results, parts get struck

class ConversationView extends HTMLElement {
  #opened = new Map();
  #texts = new Map();
  #strikes = new Map();
  #inserted = [];
  #request = null;
  #current = null;

  connectedCallback() {
    if (this.list) return;
    this.findBar = h("redline-find-bar");
    this.slider = h("redline-request-slider");
    this.list = h("redline-list", { "aria-label": "Messages" });
    this.note = h("p", { class: "note", hidden: true });
    this.pill = h("button", { class: "pill", type: "button", hidden: true, onclick: () => this.#toEnd() });
    this.append(h("div", { class: "controls" }, this.findBar, this.slider), this.note, this.list, this.pill);
    this.findBar.onfilter = (chosen) => this.context.go("conversation", { ...chosen, index: null, at: null }, { replace: true });
    this.findBar.onhit = (index, at) => this.#jump(index, at, { isHit: true });
    this.slider.onchoose = (request) => this.context.go("conversation", { request, index: null, at: null }, { replace: true });
    this.list.addEventListener("range", ({ detail }) => this.#inSight(detail));
    this.list.addEventListener("scroll", () => this.list.isAtEnd && (this.pill.hidden = true), { passive: true });
    this.keys = (event) => this.#key(event);
  }

  async show(context) {
    const { session, params } = context;
    const source = JSON.stringify([session.id, context.query()]);
    const isOther = source !== this.source;
    const before = this.shown ?? {};
    Object.assign(this, { context, source, shown: { ...params } });
    document.addEventListener("keydown", this.keys);
    if (isOther) this.#start();
    const changed = (...names) => isOther || names.some((name) => before[name] !== params[name]);
    this.findBar.show(params, session.tools);
    if (changed("request")) this.slider.show(number(params.request), session.requests);
    if (changed("request", "text", ...FILTERS)) await this.#arrange(isOther || before.request === undefined);
    if (this.context === context && changed("index", "at") && params.index !== undefined) this.#jump(Number(params.index), params.at);
  }

  leave() {
    document.removeEventListener("keydown", this.keys);
  }

  /** More was written to the session. */
  grown({ session, before }) {
    this.context.session = session;
    this.slider.show(number(this.context.params.request), session.requests);
    if (this.#request) this.slider.details(this.#request);
    this.store.forget(before.is_pending ? 0 : before.messages - CHANGED_BEHIND);
    this.#loadStrikes();
    const isAtEnd = this.list.isAtEnd;
    const added = session.messages - before.messages;
    if (!this.#request && added > 0 && !isAtEnd) this.#announce(added);
    this.#arrange(false);
  }

  #start() {
    const { session } = this.context;
    this.path = `sessions/${session.id}`;
    const arrived = (indices) => this.list.refresh(indices);
    this.store?.want([]);
    this.store = new MessageStore(this.path, this.context.query(), { arrived, failed: (problem) => this.#fail(problem) });
    for (const kept of [this.#opened, this.#texts, this.#strikes]) kept.clear();
    this.added = 0;
    this.pill.hidden = true;
    this.#current = null;
    this.#loadStrikes();
  }

  async #loadStrikes() {
    const { source } = this;
    try {
      const { strikes } = await get(`${this.path}/strikes`, this.context.query());
      if (source !== this.source) return;
      this.#strikes = new Map(strikes.map((strike) => [strike.number, strike]));
      this.list.refresh();
    } catch (problem) {
      this.#fail(problem);
    }
  }

  /** Works out which messages are listed: those of the request, those that pass the filters. */
  async #arrange(isFirst) {
    this.calls?.abort();
    this.calls = new AbortController();
    const { context, calls } = this;
    const { params, session } = context;
    const chosen = Object.fromEntries(FILTERS.map((name) => [name, params[name]]));
    const isFiltered = FILTERS.some((name) => params[name]);
    const find = (more) => get(`${this.path}/find`, { ...context.query(), ...chosen, request: params.request, ...more }, calls);
    try {
      const [request, passed, hits] = await Promise.all([
        params.request === undefined ? null : get(`${this.path}/requests/${Number(params.request)}`, context.query(), calls),
        isFiltered ? find({}) : null,
        params.text ? find({ text: params.text }) : null,
      ]);
      if (calls.signal.aborted) return;
      this.#request = request;
      this.slider.details(request);
      this.findBar.results(hits ?? passed, { isSearch: Boolean(hits) });
      this.#list(request, passed, session.messages, isFirst);
    } catch (problem) {
      if (problem.name !== "AbortError") this.#fail(problem);
    }
  }

  #list(request, passed, messages, isFirst) {
    const allowed = passed ? new Set(indicesOf(passed.runs)) : null;
    const all = indicesOf(request?.visible ?? [[0, messages]]);
    const order = allowed ? all.filter((index) => allowed.has(index)) : all;
    const repaired = allowed ? [] : (request?.repaired ?? []);
    this.#inserted = repaired.map(({ message }, place) => ({ ...message, index: undefined, key: -1 - place }));
    for (const [place, { after }] of [...repaired.entries()].reverse()) order.splice(order.indexOf(after) + 1, 0, -1 - place);
    const isWhole = !request && !allowed;
    const positionOf = isWhole ? (key) => (key < messages ? key : -1) : (key) => order.indexOf(key);
    this.order = order;
    this.list.show({ count: order.length, keyAt: (position) => order[position], positionOf, make: (position, row) => this.#make(order[position], row) });
    if (isFirst && request && this.context.params.index === undefined) this.list.goToEnd(); // what is new is there
    this.#say(order.length ? "" : allowed ? "No message passes these filters." : "This conversation has no messages.");
  }

  #make(key, row) {
    const message = key < 0 ? this.#inserted[-key - 1] : this.store.get(key);
    if (!message) return null;
    const role = roleOf(message);
    row.className = `row ${role}${key < 0 ? " inserted" : ""}${key === this.#current ? " current" : ""}`;
    row.setAttribute("aria-label", key < 0 ? "Message made by the repair" : `Message ${key}, ${role}`);
    return messageView(message, this.scene);
  }

  /** What surrounds a message while it is drawn. */
  get scene() {
    const { context } = this;
    const { session, params } = context;
    return {
      session,
      strikes: this.#strikes,
      request: this.#request?.number ?? null,
      timeMs: this.#request?.time_ms ?? session.ended_ms,
      words: params.text,
      opened: this.#opened,
      texts: this.#texts,
      query: () => context.query(),
      link: (params) => context.href("conversation", params),
      jump: (index, at) => this.#jump(index, at),
      toRequest: (request) => context.go("conversation", { request, index: null, at: null }),
      refresh: (key) => this.#refresh(key),
      act: (body) => this.#act(body),
      fail: (problem) => this.#fail(problem),
    };
  }

  /** Draws one row again, and leaves the keyboard's place where it was. */
  #refresh(key) {
    const focused = document.activeElement?.dataset.focus;
    this.list.refresh(new Set([key]));
    const back = () => this.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    if (focused) requestAnimationFrame(() => requestAnimationFrame(back));
  }

  async #act(body) {
    try {
      const { says } = await post(`${this.path}/actions`, body, this.context.query());
      this.context.say(says);
      this.store.forget(0);
      this.#texts.clear();
      await this.#loadStrikes();
      this.#arrange(false);
    } catch (problem) {
      this.#fail(problem);
    }
  }

  #inSight({ from, to }) {
    const wanted = this.order.slice(from, to).filter((key) => key >= 0);
    const around = this.order.slice(to, to + 20).concat(this.order.slice(Math.max(0, from - 20), from)).filter((key) => key >= 0);
    this.store.want([...wanted, ...around]);
  }

  #jump(index, at = null, { isHit = false } = {}) {
    const position = this.order?.indexOf(index) ?? -1;
    if (position < 0) return this.#say(`Message ${index} is not among those shown here.`);
    if (isHit && at) this.#unfold(index, at);
    this.#goTo(position);
    if (at) requestAnimationFrame(() => this.#flash(index, at, isHit));
  }

  /** Opens the part of a hit, so that its words can be seen. */
  #unfold(index, at) {
    for (const name of ["all", "body", "call", "strike"]) this.#opened.set(`${index}/${at}/${name}`, true);
    this.list.refresh(new Set([index]));
  }

  #flash(index, at, isHit) {
    const part = this.list.rowOf(index)?.querySelector(`[data-at="${CSS.escape(at)}"]`);
    if (isHit) part?.querySelector("mark")?.scrollIntoView({ block: "nearest" });
    part?.classList.add("flash");
    setTimeout(() => part?.classList.remove("flash"), 1200);
  }

  #goTo(position) {
    this.list.rowOf(this.#current)?.classList.remove("current");
    this.#current = this.order[position];
    this.list.goTo(position);
    const row = this.list.rowOf(this.#current);
    row?.classList.add("current");
    if (document.activeElement !== this.findBar.input) row?.focus({ preventScroll: true });
  }

  #move(by) {
    const at = this.order.indexOf(this.#current);
    const isInSight = at >= this.list.from && at < this.list.to;
    const position = isInSight ? at + by : this.list.first;
    if (position >= 0 && position < this.order.length) this.#goTo(position);
  }

  #nextStrike() {
    const request = this.#request?.number ?? null;
    const struck = new Map([...this.#strikes.values()].filter((strike) => inForce(strike, request)).map(({ index, at }) => [index, at]));
    const from = this.order.indexOf(this.#current) + 1;
    const next = this.order.slice(from).find((index) => struck.has(index));
    if (next !== undefined) this.#jump(next, struck.get(next));
    else this.context.say("No strike after this message.");
  }

  #key(event) {
    if (isTyping(event)) return;
    const keys = {
      "/": () => this.findBar.input.focus(),
      j: () => this.#move(1),
      k: () => this.#move(-1),
      n: () => this.findBar.move(1, this.#current),
      N: () => this.findBar.move(-1, this.#current),
      s: () => this.#nextStrike(),
      "[": () => this.slider.step(-1),
      "]": () => this.slider.step(1),
      G: () => this.#toEnd(),
    };
    if (event.key === "Enter" && event.target.classList.contains("row")) keys.Enter = () => this.#toggle(event.target);
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** Opens what is folded in a message, or folds it. */
  #toggle(row) {
    const folded = [...row.querySelectorAll('[aria-expanded="false"][data-focus]')];
    const buttons = folded.length ? folded : [...row.querySelectorAll('[aria-expanded="true"][data-focus]')];
    for (const button of buttons) button.click();
    row.focus({ preventScroll: true });
  }

  #announce(added) {
    this.added = this.pill.hidden ? added : this.added + added;
    this.pill.hidden = false;
    fill(this.pill, `${counted(this.added, "new message")} ↓`);
  }

  #toEnd() {
    this.pill.hidden = true;
    this.list.goToEnd();
  }

  #say(words) {
    this.note.hidden = !words;
    fill(this.note, said(words));
  }

  #fail(problem) {
    this.context.say(problem.message, { isProblem: true });
  }
}

function number(text) {
  return text === undefined ? null : Number(text);
}

customElements.define("redline-conversation", ConversationView);
