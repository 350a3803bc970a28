// What if: choose a policy and see at once what this session would have cost with it, and what it would have risked.
import { get, post } from "./api.js";
import { fill, h } from "./dom.js";
import { DrawnView } from "./drawn-view.js";
import { policyForm } from "./policy-form.js";
import { verdict, whatIfAnswer } from "./what-if-answer.js";

class WhatIfView extends DrawnView {
  wanted() {
    const { conversation = 0, policy } = this.context.params;
    return { conversation, policy };
  }

  async ask(path, options) {
    const { conversation, policy } = this.wanted();
    this.offers ??= await get("policies");
    if (!this.custom || policy !== this.written) this.#start(policy);
    return post(`${path}/what-if`, this.custom, { conversation }, options);
  }

  place(found) {
    fill(this.said, verdict(found));
    this.answer.show(found);
  }

  #start(policy) {
    this.custom = this.#first(policy);
    this.written = policy;
    const form = policyForm(this.offers, this.custom, () => this.change({ policy: (this.written = JSON.stringify(this.custom)) }));
    this.answer = whatIfAnswer((params) => this.open({ policy: JSON.stringify(this.custom), ...params }));
    fill(this, this.said, h("div.columns", form, this.answer.element));
  }

  /** The policy that the address holds or names, or the one that the session is shown with. */
  #first(policy) {
    if (policy?.startsWith("{")) return { rules: [], ...JSON.parse(policy) };
    const { presets } = this.offers;
    const named = [policy, this.context.session.policy, "default"].map((name) => presets.find((preset) => preset.name === name));
    const { name, settings } = named.find(Boolean);
    return structuredClone({ ...settings, preset: name });
  }
}

customElements.define("redline-what-if", WhatIfView);
