// What if: choose a policy and see at once what this session would have cost with it, and what it would have risked.

import { get, post } from "./api.js";
import { fill, h } from "./dom.js";
import { DrawnView } from "./drawn-view.js";
import { policyForm } from "./policy-form.js";
import { WhatIfAnswer } from "./what-if-answer.js";

class WhatIfView extends DrawnView {
  /** The policy in the form, and as the address has it. */
  #custom = null;
  #written = "";

  wanted() {
    return [this.context.params.conversation, this.context.params.policy];
  }

  async ask(path, options) {
    const { params } = this.context;
    this.offers ??= await get("policies");
    if (!this.#custom || params.policy !== this.#written) this.#start();
    return post(`${path}/what-if`, this.#custom, { conversation: params.conversation ?? 0 }, options);
  }

  place(found) {
    this.answer.show(found);
  }

  fail(problem) {
    if (this.answer) this.answer.fail(problem);
    else super.fail(problem);
  }

  #start() {
    this.#custom = policyToStart(this.offers, this.context);
    this.#written = this.context.params.policy;
    const form = policyForm(this.offers, this.#custom, (custom) => {
      this.#custom = custom;
      this.#written = JSON.stringify(custom);
      this.change({ policy: this.#written });
    });
    this.answer = new WhatIfAnswer((params) => this.open({ policy: JSON.stringify(this.#custom), ...params }));
    fill(this, this.answer.said, h("div", { class: "columns" }, form, this.answer.element));
  }
}

/** The policy that the address holds or names, or the one that the session is shown with. */
function policyToStart({ presets }, { params, session }) {
  try {
    const { preset = null, rules, schedule = null, price = null } = JSON.parse(params.policy);
    if (Array.isArray(rules)) return { preset, rules, schedule, price };
  } catch {
    // The address names a preset, or none.
  }
  const names = [params.policy, session.policy, "default", presets[0].name];
  const { name, settings } = names.map((wanted) => presets.find((preset) => preset.name === wanted)).find(Boolean);
  return { ...settings, preset: name };
}

customElements.define("redline-what-if", WhatIfView);
