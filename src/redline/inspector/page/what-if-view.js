// What if: choose a policy and see at once what this session would have cost with it, and what it would have risked.

import { get, post } from "./api.js";
import { fill, h } from "./dom.js";
import { Latest } from "./latest.js";
import { policyForm } from "./policy-form.js";
import { WhatIfAnswer } from "./what-if-answer.js";

const PAUSE_MS = 150;

class WhatIf extends HTMLElement {
  #context = null;
  #loaded = "";
  #shown = "";
  #offers = null;
  #custom = null;
  #answer = null;
  #latest = new Latest();
  #timer = 0;

  async show(context) {
    this.#context = context;
    const key = JSON.stringify([context.session.id, context.params.conversation]);
    if (key === this.#loaded && (context.params.policy ?? "") === this.#shown) return;
    this.#loaded = key;
    try {
      this.#offers ??= await get("policies");
    } catch (problem) {
      fill(this, h("p", { class: "problem", role: "alert" }, problem.message));
      return;
    }
    this.#custom = startWith(this.#offers, this.#context);
    this.#shown = this.#context.params.policy ?? "";
    this.#answer?.leave();
    this.#answer = new WhatIfAnswer(this.#context, () => this.#custom);
    fill(this, h("div", { class: "what-if" }, policyForm(this.#offers, this.#custom, (custom) => this.#change(custom)), this.#answer.element));
    this.#try();
  }

  grown() {
    this.#try();
  }

  leave() {
    clearTimeout(this.#timer);
    this.#latest.stop();
    this.#answer?.leave();
    this.#loaded = "";
  }

  #change(custom) {
    this.#custom = custom;
    this.#answer.wait();
    this.#latest.stop();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#shown = JSON.stringify(custom);
      this.#context.go("what-if", { ...this.#context.params, policy: this.#shown }, { replace: true });
      this.#try();
    }, PAUSE_MS);
  }

  async #try() {
    if (!this.#custom) return;
    const { session, params } = this.#context;
    const parameters = params.conversation ? { conversation: params.conversation } : {};
    this.#answer.wait();
    try {
      const found = await this.#latest.ask((signal) => post(`sessions/${session.id}/what-if`, this.#custom, parameters, { signal }));
      if (found) this.#answer.show(found, this.#context);
    } catch (problem) {
      this.#answer.fail(problem);
    }
  }
}

/** The policy that the address names: one of its own, a preset, or the one that the session is shown with. */
function startWith({ presets }, { params, session }) {
  const own = params.policy?.startsWith("{") && readPolicy(params.policy);
  if (own) return own;
  const named = [params.policy, session.policy, "default"].map((wanted) => presets.find(({ name }) => name === wanted)).find(Boolean);
  return (named ?? presets[0]).settings;
}

function readPolicy(text) {
  try {
    const { preset = null, rules, schedule = null, price = null } = JSON.parse(text);
    return Array.isArray(rules) ? { preset, rules, schedule, price } : null;
  } catch {
    return null;
  }
}

customElements.define("redline-what-if", WhatIf);
