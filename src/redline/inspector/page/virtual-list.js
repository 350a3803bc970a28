// A list of any length with rows of any height: only the rows in sight are elements, and what is read stays where it is while heights settle.
import { fill, h } from "./dom.js";

const TALLEST = 6_000_000; // px; browsers lay out no more than about 17 million
const AHEAD = 700; // px of rows that are made before they come into sight
const MOST_ROWS = 250;
const FRAME_MS = 9; // of making rows, then the browser may paint
const PAUSE_MS = 150; // without scrolling, then the scroll bar is put right
const ESTIMATE = 120; // px of a row that was never seen
const BELOW = 8; // px above a row that was gone to

/**
 * `show(keys, make)` with `make(key, row)` -> nodes, or null while they are not there. Sends `range` events.
 *
 * `top` is where the reader is, in the sum of all heights. The scroll bar has its own, shorter scale, so that
 * `shift` (top − scrollTop) takes up every correction while someone scrolls; in a pause the two are brought together.
 */
class VirtualList extends HTMLElement {
  keys = [];
  heights = [];
  total = 0;
  top = 0;
  shift = 0;
  known = new Map();
  rows = new Map();

  connectedCallback() {
    this.block = h("div.rows", { role: "feed", "aria-label": "Messages" });
    this.extent = h("div.extent", this.block);
    this.append(this.extent);
    this.tabIndex = 0;
    this.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.addEventListener("keydown", (event) => this.toEnds(event));
    this.sizes = new ResizeObserver((entries) => this.measured(entries));
    new ResizeObserver(() => this.draw()).observe(this);
  }

  /** Other rows; the reader stays at the row they were reading, where it is still there. */
  show(keys, make) {
    const isAtEnd = this.isAtEnd && this.rows.size > 0;
    const { key, inside } = this.place;
    this.make = make;
    this.keys = keys;
    this.heights = Float64Array.from(keys, (one) => this.known.get(one) ?? ESTIMATE);
    this.total = this.above(keys.length);
    this.refresh();
    const position = keys.indexOf(key);
    this.settleAt(isAtEnd ? Infinity : position < 0 ? this.top : this.above(position) + inside);
  }

  /** Puts a row at the top of what is in sight, and holds it there until someone scrolls. */
  goTo(position) {
    this.settleAt(this.above(position) - BELOW, position);
  }

  toEnds(event) {
    const top = { Home: 0, End: Infinity }[event.key];
    if (top === undefined) return;
    event.preventDefault();
    this.settleAt(top);
  }

  goToEnd() {
    this.settleAt(Infinity);
  }

  refresh(keys = null) {
    for (const [key, row] of this.rows) if (!keys || keys.has(key)) row.isMade = false;
    this.later();
  }

  get isAtEnd() {
    return this.top >= this.lowest - 40;
  }

  get first() {
    return this.at(this.top + BELOW + 1);
  }

  get lowest() {
    return Math.max(0, this.total + 40 - this.clientHeight);
  }

  get scale() {
    return Math.min(1, (TALLEST - this.clientHeight) / this.lowest);
  }

  /** What must stay where it is: the row that was gone to, or the first in sight. */
  get place() {
    const position = this.held ?? this.at(this.top);
    return { position, key: this.keys[position], inside: this.top - this.above(position) };
  }

  above(position) {
    let sum = 0;
    for (let i = 0; i < position; i += 1) sum += this.heights[i];
    return sum;
  }

  at(distance) {
    let position = 0;
    for (let sum = this.heights[0]; sum <= distance && position < this.keys.length - 1; sum += this.heights[position]) position += 1;
    return position;
  }

  scrolled() {
    const moved = this.scrollTop - this.last;
    if (!moved) return;
    const isJump = Math.abs(moved) > 3 * this.clientHeight;
    const isStuck = this.scrollTop <= 0 || this.scrollTop + this.clientHeight >= this.scrollHeight - 1;
    this.held = null;
    this.last = this.scrollTop;
    this.top = Math.max(0, Math.min(isJump ? this.scrollTop / this.scale : this.top + moved, this.lowest));
    this.shift = this.top - this.scrollTop;
    if (isStuck && Math.abs(this.shift) > 1) return this.settleAt(this.top);
    this.settleLater();
    this.draw();
  }

  settleAt(top, held = null) {
    clearTimeout(this.pause);
    this.held = held;
    this.top = Math.max(0, Math.min(top, this.lowest));
    this.extent.style.height = `${Math.min(this.total + 40, TALLEST)}px`;
    this.scrollTop = Math.round(this.top * this.scale);
    this.last = this.scrollTop;
    this.shift = this.top - this.last;
    this.draw();
  }

  settleLater() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.settleAt(this.top, this.held), PAUSE_MS);
  }

  measured(entries) {
    const { position: kept, inside } = this.place;
    const isAtEnd = this.isAtEnd && this.held === null;
    let isOther = false;
    for (const { target, borderBoxSize } of entries) {
      const { position, key, isMade } = target.row;
      const height = borderBoxSize[0].blockSize;
      const change = height - this.heights[position];
      if (!height || this.keys[position] !== key || Math.abs(change) < 0.5) continue;
      if (isMade) this.known.set(key, height);
      this.heights[position] = height;
      this.total += change;
      isOther = true;
    }
    if (!isOther) return;
    const top = isAtEnd ? this.lowest : this.above(kept) + inside;
    if (isAtEnd || this.held !== null) return this.settleAt(top, this.held);
    this.shift += top - this.top;
    this.top = top;
    this.later();
    this.move();
    this.settleLater();
  }

  later() {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    if (!this.make || !this.clientHeight) return;
    this.from = this.at(this.top - AHEAD);
    this.to = Math.min(this.at(this.top + this.clientHeight + AHEAD) + 1, this.from + MOST_ROWS, this.keys.length);
    this.arrange();
    this.makeRows();
    this.move();
    this.dispatchEvent(new Event("range"));
  }

  /** Rows out of sight go first: an element that is moved would lose the keyboard's focus. */
  arrange() {
    const wanted = new Set(this.keys.slice(this.from, this.to));
    for (const [key, { element }] of this.rows) {
      if (wanted.has(key)) continue;
      this.sizes.unobserve(element);
      element.remove();
      this.rows.delete(key);
    }
    let next = this.block.firstChild;
    let position = this.from;
    for (const key of wanted) {
      const row = this.rows.get(key) ?? this.newRow(key);
      const { element } = row;
      row.position = position;
      element.style.minHeight = element.firstChild ? "" : `${this.heights[position]}px`;
      position += 1;
      element.ariaPosInSet = position;
      element.ariaSetSize = this.keys.length;
      if (element === next) next = next.nextSibling;
      else this.block.insertBefore(element, next);
    }
  }

  newRow(key) {
    const element = h("article.row", { tabindex: -1 });
    const row = (element.row = { key, element });
    this.rows.set(key, row);
    this.sizes.observe(element);
    return row;
  }

  /** Fills rows that are not made yet, those in sight first, for as long as a frame has time. */
  makeRows() {
    const start = performance.now();
    const inSight = this.at(this.top);
    for (const key of [...this.keys.slice(inSight, this.to), ...this.keys.slice(this.from, inSight)]) {
      const row = this.rows.get(key);
      if (!row || row.isMade) continue;
      if (performance.now() - start > FRAME_MS) return this.later();
      const nodes = this.make(key, row.element);
      if (!nodes) continue;
      fill(row.element, nodes).style.minHeight = "";
      row.isMade = true;
    }
  }

  move() {
    this.block.style.transform = `translateY(${Math.round(this.above(this.from) - this.shift)}px)`;
  }
}

customElements.define("redline-list", VirtualList);
