// The record as a tree: messages, strikes, branches and batches, and the way back to each of them.
import { get, post } from "./api.js";
import { fill, h } from "./dom.js";
import { DrawnView, button, link } from "./drawn-view.js";
import { count, counted, when } from "./format.js";
import { drawLanes } from "./lanes.js";
import { line } from "./said.js";

const ROWS = 400;
/** What is acted on, what the button is called, what it then asks for, and what that appends. */
const ACTIONS = {
  rewind: ["index", "Rewind here", "Rewind", "goes on after message #. What came later stays in the file as a branch."],
  switch: ["branch", "Switch to this branch", "Switch", "goes on at the end of branch #. The present one stays in the file."],
  rollback: ["batch", "Roll back to this batch", "Roll back", "sends the messages of batch # again. Nothing is deleted."],
};

class BranchesView extends DrawnView {
  ask(path, options) {
    return get(`${path}/records`, this.context.query(), options);
  }

  /** Nothing moves while someone is in it. */
  grown(event) {
    if (!this.contains(document.activeElement)) super.grown(event);
  }

  place(found, most = ROWS) {
    const { branches, batches } = found;
    const records = found.records.slice(-most);
    if (!records.length) return this.say("Nothing is recorded in this conversation yet.");
    const earlier = found.records.length - records.length;
    const lanes = drawLanes(records);
    const rows = records.map((record, row) => this.#row(record, lanes[row]));
    const tree = h("ol.tree", { "aria-label": "Records, oldest first" }, rows);
    tree.style.setProperty("--lanes", `${lanes[0].getAttribute("width")}px`);
    const more = earlier > 0 && button(`${counted(earlier, "earlier line")}…`, () => this.place(found, most + ROWS));
    const lists = [
      this.#list("Branch", "es", branches, "switch", (one) => `${counted(one.messages, "message")} after record ${count(one.after)}`),
      this.#list("Batch", "es", batches, "rollback", (one) => `from message ${count(one.boundary)} on`),
    ];
    fill(this, this.said, h("div.columns", h("div", more, tree), h("div", lists)));
  }

  #row({ index, is_current: isCurrent, type, says, time_ms: time, to }, lanes) {
    const words = h("bdi", line(says));
    return h(
      "li",
      { class: isCurrent ? "" : "quiet" },
      lanes,
      h("span.type", type),
      h("span.text", index === null ? words : link(words, () => this.open({ index }))),
      h("time", when(time)),
      to && this.#offer("rewind", to - 1),
    );
  }

  #list(name, plural, items, action, inWords) {
    const row = (item) => {
      const offer = item.is_current ? h("span.tag", "current") : this.#offer(action, item.number);
      return h("li", `${name} ${item.number}`, h("small", inWords(item)), offer);
    };
    return items.length > 0 && [h("h2", name + plural), h("ul.list", items.map(row))];
  }

  /** A button that asks once, saying what will be appended. */
  #offer(action, number) {
    if (!this.context.session.can_act) return null;
    const [key, name, verb, says] = ACTIONS[action];
    const place = h("span.act");
    const close = () => fill(place, start).firstChild.focus();
    const start = button(name, () => {
      const yes = button(verb, () => this.#act({ action, [key]: number }, close), { class: "main" });
      const onkeydown = (event) => event.key === "Escape" && close();
      const words = h("span", `A record is appended: the conversation ${says.replace("#", number)}`);
      fill(place, h("span.confirm.inline", { role: "group", "aria-label": name, onkeydown }, words, yes, button("Cancel", close)));
      yes.focus();
    });
    return fill(place, start);
  }

  async #act(action, close) {
    const { conversation = 0 } = this.context.query();
    try {
      const { says } = await post(`sessions/${this.context.session.id}/actions`, action, { conversation });
      fill(this.said, says).focus();
      this.load();
    } catch (problem) {
      close();
      this.fail(problem);
    }
  }
}

customElements.define("redline-branches", BranchesView);
