// The slider through the requests of a conversation, and the numbers of the one that is chosen.
import { button, fill, h } from "./dom.js";
import { count, counted, money, when } from "./format.js";
import { line } from "./said.js";

/** Calls `onchoose(number)`, or `onchoose(null)` for the whole session, a moment after the last move. */
class RequestSlider extends HTMLElement {
  connectedCallback() {
    const step = (by, label, sign) => button(sign, () => this.step(by), { class: "quiet step", "aria-label": label });
    this.range = h("input", { type: "range", min: 0, "aria-label": "Request", oninput: () => this.move(Number(this.range.value)) });
    this.name = h("output.request");
    this.numbers = h("p.numbers", { "aria-live": "polite" });
    this.whole = button("Whole session", () => this.onchoose(null), { class: "quiet" });
    this.append(h("div.track", this.name, step(-1, "Request before", "‹"), this.range, step(1, "Next request", "›"), this.whole), this.numbers);
  }

  /** `request` is the chosen number or null, `of` how many there are. */
  show(request, of) {
    clearTimeout(this.timer);
    this.of = of;
    this.hidden = !of;
    this.range.max = of - 1;
    this.label(request);
    if (request === null) fill(this.numbers, "All messages. Move the slider to see exactly what the model saw at a request.");
  }

  /** The numbers of the chosen request. */
  details({ sent_tokens: sent, struck_tokens: struck, read_tokens: read, is_cold: isCold, cold_because: because, cost_usd: cost, repairs, ...found }) {
    fill(
      this.numbers,
      fact(counted(sent, "token"), "sent"),
      fact(count(struck), "struck"),
      read !== null && fact(count(read), "read from cache"),
      cost !== null && fact(money(cost), ""),
      isCold ? h("span.cold", "cold", because && [": ", line(because)]) : h("span", "warm"),
      found.new.length > 0 && fact(counted(found.new.length, "strike"), "new here"),
      found.held > 0 && fact(count(found.held), "waiting"),
      repairs.length > 0 && h("span", { title: repairs.map(({ what }) => what).join("\n") }, `🔧 ${counted(repairs.length, "repair")}`),
      h("span", when(found.time_ms)),
    );
  }

  step(by) {
    this.move(Math.max(0, Math.min(this.of - 1, (this.request ?? (by < 0 ? this.of : -1)) + by)));
  }

  move(request) {
    this.label(request);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.onchoose(request), 90);
  }

  label(request) {
    const isWhole = request === null;
    this.request = request;
    this.range.value = request ?? this.of - 1;
    this.range.setAttribute("aria-valuetext", isWhole ? "whole session" : `request ${request} of ${this.of - 1}`);
    this.classList.toggle("chosen", !isWhole);
    this.whole.hidden = isWhole;
    fill(this.name, isWhole ? counted(this.of, "request") : ["Request ", h("b", request), ` / ${this.of - 1}`]);
  }
}

function fact(value, name) {
  return h("span", h("b", value), " ", name);
}

customElements.define("redline-request-slider", RequestSlider);
