// What if: choose a policy and see at once what this session would have cost with it, and what it would have risked.
import { verdict } from "./chart.js";
import { DrawnView, fill, get, h, post } from "./drawn-view.js";
import { policyForm } from "./policy-form.js";
import { whatIfAnswer } from "./what-if-answer.js";

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
    const { cost_without: all, cost, unit } = found;
    fill(this.said, verdict(all, cost, unit, true));
    this.answer.show(found);
  }

  #start(policy) {
    const { presets } = this.offers;
    const named = [policy, this.context.session.policy, "careful"].map((wanted) => presets.find(({ name }) => name === wanted));
    const { name: preset, settings } = named.find(Boolean);
    this.custom = policy?.startsWith("{") ? { rules: [], ...JSON.parse(policy) } : structuredClone({ ...settings, preset });
    this.written = policy;
    const form = policyForm(this.offers, this.custom, () => this.change({ policy: (this.written = JSON.stringify(this.custom)) }));
    this.answer = whatIfAnswer((params) => this.open({ policy: JSON.stringify(this.custom), ...params }));
    fill(this, this.said, h("div.columns", form, this.answer.element));
  }
}

customElements.define("redline-what-if", WhatIfView);
