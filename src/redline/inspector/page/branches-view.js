// The record as a tree: messages, strikes, branches and batches, and the way back to each of them.

import { get, post } from "./api.js";
import { fill, h } from "./dom.js";
import { DrawnView, button, link } from "./drawn-view.js";
import { count, counted, when } from "./format.js";
import { drawLanes } from "./lanes.js";
import { line } from "./said.js";

const ROWS = 400;
/** What a button is called, what it then asks for, and what that appends; # is the number of what is acted on. */
const ACTIONS = {
  rewind: ["Rewind here", "Rewind", "goes on after message #. What came later stays in the file as a branch."],
  switch: ["Switch to this branch", "Switch", "goes on at the end of branch #. The present one stays in the file."],
  rollback: ["Roll back to this batch", "Roll back", "sends the messages of batch # again. Nothing is deleted."],
};
const NUMBERS = { rewind: "index", switch: "branch", rollback: "batch" };

class BranchesView extends DrawnView {
  #said = h("p", { role: "status", tabindex: -1 });
  #most = ROWS;

  ask(path, options) {
    return get(`${path}/records`, this.context.query(), options);
  }

  /** Nothing moves while someone is in it. */
  grown(event) {
    if (!this.contains(document.activeElement)) super.grown(event);
  }

  place(found) {
    const records = found.records.slice(-this.#most);
    if (!records.length) {
      this.say("Nothing is recorded in this conversation yet.");
      return;
    }
    const earlier = found.records.length - records.length;
    const more = () => {
      this.#most += ROWS;
      this.place(found);
    };
    const lanes = drawLanes(records);
    const rows = records.map((record, row) => this.#row(record, lanes[row]));
    const tree = h("ol", { class: "tree", "aria-label": "Records, oldest first" }, rows);
    tree.style.setProperty("--lanes", `${lanes[0].getAttribute("width")}px`);
    const branches = this.#list("Branches", found.branches, branchInWords, "switch");
    const batches = this.#list("Batches", found.batches, batchInWords, "rollback");
    const before = earlier > 0 && button(`${counted(earlier, "earlier line")}…`, more);
    fill(this, this.#said, h("div", { class: "columns" }, h("div", {}, before, tree), h("div", {}, branches, batches)));
  }

  #row(record, lanes) {
    const { index } = record;
    const says = h("bdi", {}, line(record.says));
    return h(
      "li",
      { class: record.is_current ? "" : "quiet" },
      lanes,
      h("span", { class: "type" }, record.type),
      h("span", { class: "text" }, index === null ? says : link(says, () => this.open({ index }))),
      h("time", {}, when(record.time_ms)),
      record.to && this.#offer("rewind", record.to - 1),
    );
  }

  #list(name, items, inWords, action) {
    if (!items.length) return null;
    const rows = items.map((item) => {
      const [title, says] = inWords(item);
      const offer = item.is_current ? h("span", { class: "tag" }, "current") : this.#offer(action, item.number);
      return h("li", {}, h("bdi", {}, line(title, 80)), h("small", {}, says), offer);
    });
    return [h("h2", {}, name), h("ul", { class: "list" }, rows)];
  }

  /** A button that asks once, saying what will be appended. */
  #offer(action, number) {
    if (!this.context.session.can_act) return null;
    const [name, verb, says] = ACTIONS[action];
    const place = h("span", { class: "act" });
    const close = () => fill(place, start).firstChild.focus();
    const start = button(name, () => {
      const yes = button(verb, () => this.#act({ action, [NUMBERS[action]]: number }, close), { class: "main" });
      const words = `A record is appended: the conversation ${says.replace("#", number)}`;
      const onkeydown = (event) => event.key === "Escape" && close();
      const group = { class: "confirm inline", role: "group", "aria-label": name, onkeydown };
      fill(place, h("span", group, h("span", {}, words), yes, button("Cancel", close)));
      yes.focus();
    });
    return fill(place, start);
  }

  async #act(action, close) {
    const { conversation = 0 } = this.context.query();
    try {
      const { says } = await post(`sessions/${this.context.session.id}/actions`, action, { conversation });
      fill(this.#said, says);
      this.#said.focus();
      this.load();
    } catch (problem) {
      close();
      fill(this.#said, h("span", { class: "problem" }, problem.message));
    }
  }
}

function branchInWords({ title, number, messages, after }) {
  return [title || `Branch ${number}`, `${counted(messages, "message")} after record ${count(after)}`];
}

function batchInWords({ number, boundary }) {
  return [`Batch ${number}`, `from message ${count(boundary)} on`];
}

customElements.define("redline-branches", BranchesView);
