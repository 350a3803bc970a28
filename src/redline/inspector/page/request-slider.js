// The slider through the requests of a conversation, and the numbers of the one that is chosen.
import { fill, h } from "./dom.js";
import { count, counted, money, when } from "./format.js";
import { line } from "./said.js";

/** Calls `onchoose(number)`, or `onchoose(null)` for the whole session, a moment after the last move. */
export class RequestSlider extends HTMLElement {
  connectedCallback() {
    if (this.range) return;
    this.range = h("input", { type: "range", min: 0, step: 1, "aria-label": "Request", oninput: () => this.#moved(Number(this.range.value)) });
    this.name = h("output", { class: "request" });
    this.numbers = h("p", { class: "numbers", "aria-live": "polite" });
    this.whole = h("button", { type: "button", class: "quiet", onclick: () => this.#choose(null) }, "Whole session");
    const step = (by, label, sign) => h("button", { type: "button", class: "quiet step", "aria-label": label, onclick: () => this.step(by) }, sign);
    this.append(h("div", { class: "track" }, this.name, step(-1, "Request before", "‹"), this.range, step(1, "Next request", "›"), this.whole), this.numbers);
  }

  /** `request` is the chosen number or null, `of` how many there are. */
  show(request, of) {
    this.of = of;
    this.hidden = of < 1;
    this.range.max = Math.max(0, of - 1);
    if (this.timer) return; // someone is moving it
    this.#label(request);
    if (request === null) fill(this.numbers, "All messages. Move the slider to see exactly what the model saw at a request.");
  }

  /** The numbers of the chosen request, once they are known. */
  details(found) {
    if (!found) return;
    const { sent_tokens: sent, struck_tokens: struck, read_tokens: read, is_cold: isCold, cold_because: because } = found;
    fill(
      this.numbers,
      fact(counted(sent, "token"), "sent"),
      fact(count(struck), "struck"),
      read === null ? null : fact(count(read), "read from cache"),
      found.cost_usd === null ? null : fact(money(found.cost_usd), ""),
      h("span", { class: isCold ? "cold" : "" }, isCold ? ["cold", because ? [": ", line(because)] : ""] : "warm"),
      found.new.length ? fact(counted(found.new.length, "strike"), "new here") : null,
      found.held ? fact(count(found.held), "waiting") : null,
      found.repairs.length ? h("span", { title: found.repairs.map(({ what }) => what).join("\n") }, `🔧 ${counted(found.repairs.length, "repair")}`) : null,
      found.time_ms ? h("span", {}, when(found.time_ms)) : null,
    );
  }

  step(by) {
    const from = this.request ?? (by < 0 ? this.of : -1);
    this.#moved(Math.max(0, Math.min(this.of - 1, from + by)));
  }

  #moved(request) {
    this.#label(request);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#choose(request), 90);
  }

  #label(request) {
    this.request = request;
    this.range.value = request ?? this.of - 1;
    this.range.setAttribute("aria-valuetext", request === null ? "whole session" : `request ${request} of ${this.of - 1}`);
    this.classList.toggle("chosen", request !== null);
    this.whole.hidden = request === null;
    fill(this.name, request === null ? counted(this.of, "request") : ["Request ", h("b", {}, String(request)), ` / ${this.of - 1}`]);
  }

  #choose(request) {
    clearTimeout(this.timer);
    this.timer = 0;
    this.onchoose(request);
  }
}

function fact(value, name) {
  return h("span", {}, h("b", {}, value), name ? ` ${name}` : "");
}

customElements.define("redline-request-slider", RequestSlider);
