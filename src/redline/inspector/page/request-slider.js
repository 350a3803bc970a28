// The slider through the requests of a conversation, and the numbers of the one that is chosen.
import { button, fill, h } from "./dom.js";
import { count, counted, money, when } from "./format.js";
import { line } from "./said.js";

/** Calls `onchoose(number)`, or null for the whole session, a moment after the last move. */
class RequestSlider extends HTMLElement {
  connectedCallback() {
    const step = (by, label, sign) => button(sign, () => this.step(by), { class: "quiet step", "aria-label": label });
    this.range = h("input", { type: "range", min: 0, "aria-label": "Request", oninput: () => this.move(Number(this.range.value)) });
    this.name = h("output.request");
    this.numbers = h("p.numbers", { "aria-live": "polite" });
    this.whole = button("Whole session", () => this.move(null), { class: "quiet" });
    this.append(h("div.track", this.name, step(-1, "Request before", "‹"), this.range, step(1, "Next request", "›"), this.whole), this.numbers);
  }

  show({ params, session }, found = null) {
    this.of = session.requests;
    this.hidden = !this.of;
    this.range.max = this.of - 1;
    if (!this.timer) this.label(params.request ? Number(params.request) : null);
    if (found) fill(this.numbers, facts(found));
    else if (!params.request) fill(this.numbers, "All messages. Move the slider to see exactly what the model saw at a request.");
  }

  step(by) {
    this.move(Math.max(0, Math.min(this.of - 1, (this.request ?? (by < 0 ? this.of : -1)) + by)));
  }

  move(request) {
    this.label(request);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.onchoose(request);
    }, 90);
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

function facts(found) {
  return [
    fact(counted(found.sent_tokens, "token"), "sent"),
    fact(count(found.struck_tokens), "struck"),
    found.folds.length > 0 && fact(count(found.folded_tokens), "folded"),
    found.read_tokens !== null && fact(count(found.read_tokens), "read from cache"),
    found.cost_usd !== null && fact(money(found.cost_usd)),
    found.is_cold ? h("span.cold", "cold", found.cold_because && [": ", line(found.cold_because)]) : h("span", "warm"),
    made(found, false) > 0 && fact(counted(made(found, false), "strike"), "new here"),
    made(found, true) > 0 && fact(counted(made(found, true), "fold"), "new here"),
    found.held > 0 && fact(count(found.held), "waiting"),
    found.repairs.length > 0 && h("span", { title: found.repairs.map(({ what }) => what).join("\n") }, `🔧 ${counted(found.repairs.length, "repair")}`),
    h("span", when(found.time_ms)),
  ];
}

/** How many strikes, or folds, a request was the first to be sent with. */
function made(found, isFold) {
  return found.new.filter((number) => found.folds.includes(number) === isFold).length;
}

function fact(value, name) {
  return h("span", h("b", value), " ", name);
}

customElements.define("redline-request-slider", RequestSlider);
