// A list of any length with rows of any height: only the rows in sight are elements, and what is read stays where it is while heights settle.
import { fill, h } from "./dom.js";

const TALLEST = 6_000_000; // px; browsers lay out no more than about 17 million
const AHEAD = 700; // px of rows that are made before they come into sight
const MOST_ROWS = 250;
const FRAME_MS = 9; // of making rows, then the browser may paint
const PAUSE_MS = 150; // without scrolling, until the scroll bar is put right

/** Heights, their sums, and which row is at a distance from the top (a Fenwick tree). */
class Heights {
  constructor(heights) {
    this.values = heights;
    this.sums = new Float64Array(heights.length + 1);
    for (let i = 1; i <= heights.length; i += 1) {
      this.sums[i] += heights[i - 1];
      const parent = i + (i & -i);
      if (parent <= heights.length) this.sums[parent] += this.sums[i];
    }
    this.step = 2 ** Math.floor(Math.log2(heights.length || 1));
  }

  set(position, height) {
    const change = height - this.values[position];
    this.values[position] = height;
    for (let i = position + 1; i < this.sums.length; i += i & -i) this.sums[i] += change;
  }

  above(position) {
    let sum = 0;
    for (let i = Math.min(position, this.values.length); i > 0; i -= i & -i) sum += this.sums[i];
    return sum;
  }

  at(distance) {
    let position = 0;
    let left = distance;
    for (let step = this.step; step > 0; step >>= 1) {
      if (position + step < this.sums.length && this.sums[position + step] <= left) {
        position += step;
        left -= this.sums[position];
      }
    }
    return Math.max(0, Math.min(position, this.values.length - 1));
  }
}

/**
 * `show(rows)` with rows = {count, keyAt(position), positionOf(key), make(position) -> nodes, or null while they are not there}.
 * Sends `range` events with the positions in sight.
 *
 * `top` is where the reader is, in the sum of all heights. The scroll bar has its own, shorter scale, so that
 * `shift` (top − scrollTop) takes up every correction while someone scrolls; in a pause the two are brought together.
 */
export class VirtualList extends HTMLElement {
  #heights = new Heights(new Float64Array(0));
  #known = new Map();
  #rows = new Map();
  #top = 0;
  #shift = 0;
  #scrolled = 0;
  #held = null;
  #frame = 0;
  #pause = 0;

  connectedCallback() {
    if (this.extent) return;
    this.block = h("div", { class: "rows", role: "feed", "aria-label": "Messages" });
    this.extent = h("div", { class: "extent" }, this.block);
    this.append(this.extent);
    this.tabIndex = 0;
    this.addEventListener("scroll", () => this.#scroll(), { passive: true });
    this.sizes = new ResizeObserver((entries) => this.#measured(entries));
    new ResizeObserver(() => this.#draw()).observe(this);
  }

  /** Other rows; the reader stays at the row they were reading, where it is still there. */
  show(rows, { estimate = 120 } = {}) {
    const isAtEnd = this.isAtEnd && this.#rows.size > 0;
    const place = this.#place();
    this.rows = rows;
    const heights = new Float64Array(rows.count).fill(estimate);
    for (let i = 0; i < rows.count && this.#known.size; i += 1) heights[i] = this.#known.get(rows.keyAt(i)) ?? estimate;
    this.#heights = new Heights(heights);
    for (const row of this.#rows.values()) row.isMade = false;
    const position = place ? rows.positionOf(place.key) : -1;
    this.#held = null;
    if (isAtEnd) this.#top = this.#lowest;
    else this.#top = position >= 0 ? this.#heights.above(position) + place.inside : Math.min(this.#top, this.#lowest);
    this.#settle();
  }

  /** Puts a row at the top of what is in sight, and holds it there until someone scrolls. */
  goTo(position, { below = 8 } = {}) {
    this.#held = position;
    this.#top = this.#heights.above(position) - below;
    this.#settle();
  }

  goToEnd() {
    this.#held = null;
    this.#top = this.#lowest;
    this.#settle();
  }

  /** Makes rows anew: those with the keys, or all. */
  refresh(keys = null) {
    for (const [key, row] of this.#rows) if (!keys || keys.has(key)) row.isMade = false;
    this.#later();
  }

  rowOf(key) {
    return this.#rows.get(key)?.element ?? null;
  }

  get isAtEnd() {
    return this.#top >= this.#lowest - 40;
  }

  /** The first position in sight. */
  get first() {
    return this.#heights.at(this.#top + 9);
  }

  get #total() {
    return this.#heights.above(this.#heights.values.length) + 40;
  }

  get #lowest() {
    return Math.max(0, this.#total - this.clientHeight);
  }

  /** How far the scroll bar goes, for each pixel of rows. */
  get #scale() {
    const room = Math.min(this.#total, TALLEST) - this.clientHeight;
    return this.#lowest > 0 ? Math.max(0, room) / this.#lowest : 1;
  }

  #place() {
    if (!this.rows?.count) return null;
    const position = this.#held ?? this.#heights.at(this.#top);
    return { position, key: this.rows.keyAt(position), inside: this.#top - this.#heights.above(position) };
  }

  #scroll() {
    const moved = this.scrollTop - this.#scrolled;
    if (!moved) return;
    this.#held = null;
    this.#scrolled = this.scrollTop;
    const isJump = Math.abs(moved) > 3 * this.clientHeight;
    this.#top = isJump ? this.scrollTop / this.#scale : this.#top + moved;
    this.#top = Math.max(0, Math.min(this.#top, this.#lowest));
    this.#shift = this.#top - this.scrollTop;
    clearTimeout(this.#pause);
    const isStuck = this.scrollTop <= 0 || this.scrollTop + this.clientHeight >= this.scrollHeight - 1;
    if (isStuck && Math.abs(this.#shift) > 1) this.#settle();
    else this.#pause = setTimeout(() => this.#settle(), PAUSE_MS);
    this.#draw();
  }

  #settle() {
    this.#top = Math.max(0, Math.min(this.#top, this.#lowest));
    this.extent.style.height = `${Math.min(this.#total, TALLEST)}px`;
    const wanted = Math.round(this.#top * this.#scale);
    if (Math.abs(wanted - this.scrollTop) > 0.5) this.scrollTop = wanted;
    this.#scrolled = this.scrollTop;
    this.#shift = this.#top - this.scrollTop;
    this.#draw();
  }

  #measured(entries) {
    const place = this.#place();
    const isAtEnd = this.isAtEnd && this.#held === null;
    let hasChanged = false;
    for (const { target, borderBoxSize } of entries) {
      const position = target.isConnected ? this.rows.positionOf(target.key) : -1;
      const height = borderBoxSize[0].blockSize;
      if (position < 0 || !height || Math.abs(this.#heights.values[position] - height) < 0.5) continue;
      if (this.#rows.get(target.key)?.isMade) this.#known.set(target.key, height);
      this.#heights.set(position, height);
      hasChanged = true;
    }
    if (!hasChanged || !place) return;
    const before = this.#top;
    this.#top = isAtEnd ? this.#lowest : this.#heights.above(place.position) + place.inside;
    this.#shift += this.#top - before;
    this.#later();
    this.#move();
    clearTimeout(this.#pause);
    if (isAtEnd || this.#held !== null) this.#settle();
    else this.#pause = setTimeout(() => this.#settle(), PAUSE_MS);
  }

  #later() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    if (!this.rows || !this.clientHeight) return;
    this.from = this.#heights.at(Math.max(0, this.#top - AHEAD));
    const end = this.rows.count ? this.#heights.at(this.#top + this.clientHeight + AHEAD) + 1 : 0;
    this.to = Math.min(end, this.from + MOST_ROWS);
    this.#arrange();
    this.#make();
    this.#move();
    this.dispatchEvent(new CustomEvent("range", { detail: { from: this.from, to: this.to } }));
  }

  /** Rows out of sight go first: an element that is moved would lose the keyboard's focus. */
  #arrange() {
    const wanted = new Set();
    for (let position = this.from; position < this.to; position += 1) wanted.add(this.rows.keyAt(position));
    for (const [key, { element }] of this.#rows) {
      if (wanted.has(key)) continue;
      this.sizes.unobserve(element);
      element.remove();
      this.#rows.delete(key);
    }
    let next = this.block.firstChild;
    let position = this.from;
    for (const key of wanted) {
      const { element, isFilled } = this.#rows.get(key) ?? this.#newRow(key);
      element.style.minHeight = isFilled ? "" : `${this.#heights.values[position]}px`;
      position += 1;
      element.setAttribute("aria-posinset", position);
      element.setAttribute("aria-setsize", this.rows.count);
      if (element === next) next = next.nextSibling;
      else this.block.insertBefore(element, next);
    }
  }

  #newRow(key) {
    const element = h("article", { class: "row", tabindex: -1 });
    element.key = key;
    this.sizes.observe(element);
    const row = { element, isMade: false, isFilled: false };
    this.#rows.set(key, row);
    return row;
  }

  /** Fills rows that are not made yet, those in sight first, for as long as a frame has time. */
  #make() {
    const start = performance.now();
    const inSight = this.#heights.at(this.#top);
    for (const [from, to] of [[inSight, this.to], [this.from, inSight]]) {
      for (let position = from; position < to; position += 1) {
        const row = this.#rows.get(this.rows.keyAt(position));
        if (row.isMade) continue;
        if (performance.now() - start > FRAME_MS) return this.#later();
        const nodes = this.rows.make(position, row.element);
        if (!nodes) continue;
        fill(row.element, nodes);
        row.element.style.minHeight = "";
        row.isMade = row.isFilled = true;
      }
    }
  }

  #move() {
    this.block.style.transform = `translateY(${Math.round(this.#heights.above(this.from) - this.#shift)}px)`;
  }
}

customElements.define("redline-list", VirtualList);
