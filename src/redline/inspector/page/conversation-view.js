// The conversation: all messages, or exactly those of one request, with what is struck; searched, filtered and followed as it grows.
import { get, post } from "./api.js";
import { button, fill, h } from "./dom.js";
import { onKeys } from "./fields.js";
import "./find-bar.js";
import { counted } from "./format.js";
import { indicesOf, MessageStore } from "./message-store.js";
import { messageView, roleOf } from "./message-view.js";
import "./request-slider.js";
import { inForce } from "./strike-card.js";
import "./virtual-list.js";

const FILTERS = ["kind", "tool", "struck", "folded", "error"];
const CHANGED_BEFORE = 40; // messages before new ones that may have changed: calls get results, parts get struck

class ConversationView extends HTMLElement {
  order = []; // the indices of the messages that are listed; what a repair made has -1, -2, …

  connectedCallback() {
    const choose = (params) => this.context.go("conversation", { ...params, index: null, at: null }, { replace: true });
    this.findBar = h("redline-find-bar");
    this.slider = h("redline-request-slider");
    this.list = h("redline-list", { "aria-label": "Messages" });
    this.note = h("p.note");
    this.pill = button("", () => this.toEnd(), { class: "pill", hidden: true });
    this.append(h("div.controls", this.findBar, this.slider), this.note, this.list, this.pill);
    this.findBar.onfilter = choose;
    this.findBar.onhit = (index, at) => this.jump(index, at, true);
    this.slider.onchoose = (request) => choose({ request });
    this.list.addEventListener("range", () => this.inSight());
    this.leave = onKeys((event) => this.key(event));
  }

  async show(context) {
    const { session, params } = context;
    const source = JSON.stringify([session.id, context.query()]);
    const isOther = source !== this.source;
    const before = this.context?.params ?? {};
    Object.assign(this, { context, source });
    if (isOther) this.start();
    const changed = (...names) => isOther || names.some((name) => before[name] !== params[name]);
    this.findBar.show(params, session.tools);
    if (changed("request")) this.slider.show(context);
    if (changed("request", "text", ...FILTERS)) await this.arrange(isOther || !before.request);
    if (this.context === context && changed("index", "at") && params.index) this.jump(Number(params.index), params.at);
  }

  grown({ session, before }) {
    const added = session.messages - before.messages;
    this.slider.show(this.context, this.request);
    this.store.forget(before.is_pending ? 0 : before.messages - CHANGED_BEFORE);
    this.loadStrikes();
    if (!this.request && added > 0 && !this.list.isAtEnd) {
      this.added = (this.pill.hidden ? 0 : this.added) + added;
      this.pill.hidden = false;
      fill(this.pill, `${counted(this.added, "new message")} ↓`);
    }
    this.arrange(false);
  }

  start() {
    this.path = `sessions/${this.context.session.id}`;
    this.store?.want([]);
    this.store = new MessageStore(this.path, this.context.query(), (indices) => this.list.refresh(indices), (problem) => this.fail(problem));
    Object.assign(this, { opened: new Map(), texts: new Map(), strikes: new Map(), current: null });
    this.pill.hidden = true;
    this.loadStrikes();
  }

  async loadStrikes() {
    const { source } = this;
    const found = await get(`${this.path}/strikes`, this.context.query()).catch((problem) => this.fail(problem));
    if (!found || source !== this.source) return;
    this.strikes = new Map(found.strikes.map((strike) => [strike.number, strike]));
    this.list.refresh();
  }

  async arrange(isFirst) {
    this.calls?.abort();
    const calls = (this.calls = new AbortController());
    const { params, query } = this.context;
    const chosen = FILTERS.map((name) => [name, params[name]]).filter(([, value]) => value);
    const find = (text) => get(`${this.path}/find`, { ...query(), ...Object.fromEntries(chosen), request: params.request, text }, calls);
    try {
      const [request, passed, hits] = await Promise.all([
        params.request ? get(`${this.path}/requests/${Number(params.request)}`, query(), calls) : null,
        chosen.length ? find() : null,
        params.text ? find(params.text) : null,
      ]);
      if (calls.signal.aborted) return;
      this.request = request;
      this.slider.show(this.context, request);
      this.findBar.results(hits, passed);
      this.place(passed, isFirst);
    } catch (problem) {
      if (!calls.signal.aborted) this.fail(problem);
    }
  }

  place(passed, isFirst) {
    const { session, params } = this.context;
    const allowed = passed && new Set(indicesOf(passed.runs));
    const order = indicesOf(this.request?.visible ?? [[0, session.messages]]).filter((index) => !allowed || allowed.has(index));
    this.repaired = allowed ? [] : (this.request?.repaired ?? []);
    for (const [place, { after }] of [...this.repaired.entries()].reverse()) order.splice(order.indexOf(after) + 1, 0, -1 - place);
    this.order = order;
    this.list.show(order, (key, row) => this.make(key, row));
    if (isFirst && this.request && !params.index) this.list.goToEnd(); // what is new is there
    fill(this.note, order.length ? "" : allowed ? "No message passes these filters." : "This conversation has no messages.");
  }

  make(key, row) {
    const message = key < 0 ? { ...this.repaired[-key - 1].message, index: undefined, key } : this.store.messages.get(key);
    if (!message) return null;
    const role = roleOf(message);
    row.className = `row ${role}${key < 0 ? " inserted" : ""}${key === this.current ? " current" : ""}`;
    row.ariaLabel = key < 0 ? "Message made by the repair" : `Message ${key}, ${role}`;
    return messageView(message, this);
  }

  /** Draws a row again; the keyboard's place stays where it was. */
  refresh(key) {
    const focused = document.activeElement?.dataset.focus;
    this.list.refresh(new Set([key]));
    const back = () => this.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    if (focused) requestAnimationFrame(() => requestAnimationFrame(back));
  }

  async act(body) {
    try {
      const { says } = await post(`${this.path}/actions`, body, this.context.query());
      this.context.say(says);
      this.store.forget(0);
      this.texts.clear();
      await this.loadStrikes();
      this.arrange(false);
    } catch (problem) {
      this.fail(problem);
    }
  }

  inSight() {
    const { from, to, isAtEnd } = this.list;
    if (isAtEnd) this.pill.hidden = true;
    const wanted = [...this.order.slice(from, to + 20), ...this.order.slice(Math.max(0, from - 20), from)];
    this.store.want(wanted.filter((key) => key >= 0));
  }

  /** To a message, or a part of it; the part of a hit is opened, so that its words can be seen. */
  jump(index, at, isHit = false) {
    const position = this.order.indexOf(index);
    if (position < 0) return this.context.say(`Message ${index} is not among those shown here.`);
    for (const name of isHit ? ["all", "body", "call", "strike"] : []) this.opened.set(`${index}/${at}/${name}`, true);
    this.list.refresh(new Set([index]));
    this.goTo(position);
    requestAnimationFrame(() => {
      const part = this.rowOf(index)?.querySelector(`[data-at="${CSS.escape(at)}"]`);
      if (isHit) part?.querySelector("mark")?.scrollIntoView({ block: "nearest" });
      part?.classList.add("flash");
      setTimeout(() => part?.classList.remove("flash"), 1200);
    });
  }

  rowOf(key) {
    return this.list.rows.get(key)?.element;
  }

  goTo(position) {
    this.rowOf(this.current)?.classList.remove("current");
    this.current = this.order[position];
    this.list.goTo(position);
    const row = this.rowOf(this.current);
    row?.classList.add("current");
    if (document.activeElement !== this.findBar.input) row?.focus({ preventScroll: true });
  }

  move(by) {
    const at = this.order.indexOf(this.current);
    const position = at >= this.list.from && at < this.list.to ? at + by : this.list.first;
    if (position in this.order) this.goTo(position);
  }

  nextStrike() {
    const present = [...this.strikes.values()].filter((strike) => !strike.is_fold && inForce(strike, this));
    const struck = new Map(present.map(({ index, at }) => [index, at]));
    const next = this.order.slice(this.order.indexOf(this.current) + 1).find((index) => struck.has(index));
    if (next === undefined) this.context.say("No strike after this message.");
    else this.jump(next, struck.get(next));
  }

  key({ target }) {
    return {
      "/": () => this.findBar.input.focus(),
      j: () => this.move(1),
      k: () => this.move(-1),
      n: () => this.findBar.move(1, this.current),
      N: () => this.findBar.move(-1, this.current),
      s: () => this.nextStrike(),
      "[": () => this.slider.step(-1),
      "]": () => this.slider.step(1),
      G: () => this.toEnd(),
      Enter: target.classList.contains("row") && (() => toggle(target)),
    };
  }

  toEnd() {
    this.pill.hidden = true;
    this.list.goToEnd();
  }

  fail({ message }) {
    this.context.say(message, { isProblem: true });
  }
}

/** Opens what is folded in a message, or folds it. */
function toggle(row) {
  const [folded, open] = [false, true].map((is) => [...row.querySelectorAll(`[aria-expanded="${is}"][data-focus]`)]);
  for (const button of folded.length ? folded : open) button.click();
  row.focus({ preventScroll: true });
}

customElements.define("redline-conversation", ConversationView);
