// The record as a tree: messages, strikes, branches and batches, the present path emphasised.

import { get, post } from "./api.js";
import { fill, h } from "./dom.js";
import { count, counted, when } from "./format.js";
import { drawLanes, layLanes } from "./lanes.js";
import { Latest } from "./latest.js";

const ROWS = 400;

class Branches extends HTMLElement {
  #context = null;
  #loaded = "";
  #latest = new Latest();
  #said = h("p", { class: "result", role: "status" });
  #shown = ROWS;

  show(context) {
    this.#context = context;
    const key = JSON.stringify([context.session.id, context.query()]);
    if (key === this.#loaded) return;
    this.#loaded = key;
    this.#shown = ROWS;
    fill(this.#said);
    fill(this, h("p", { class: "quiet", role: "status" }, "Reading the record…"));
    this.#load();
  }

  grown() {
    if (!this.querySelector(".confirm")) this.#load();
  }

  leave() {
    this.#latest.stop();
    this.#loaded = "";
  }

  async #load() {
    const { session, query } = this.#context;
    try {
      const found = await this.#latest.ask((signal) => get(`sessions/${session.id}/records`, query(), { signal }));
      if (found) this.#place(found);
    } catch (problem) {
      fill(this, h("p", { class: "problem", role: "alert" }, problem.message));
    }
  }

  #place(found) {
    if (!found.records.length) {
      fill(this, h("p", { class: "quiet" }, "Nothing is recorded in this conversation yet."));
      return;
    }
    const lanes = layLanes(found.records);
    const first = Math.max(0, found.records.length - this.#shown);
    const earlier = () => {
      this.#shown += ROWS;
      this.#place(found);
    };
    fill(
      this,
      h("p", { class: "said" }, ...summary(found)),
      this.#said,
      h(
        "div",
        { class: "branches" },
        h(
          "div",
          { class: "tree" },
          first > 0 && h("button", { type: "button", class: "link", onclick: earlier }, `Show ${counted(Math.min(ROWS, first), "earlier line")}`),
          h("ol", { "aria-label": "Records, oldest first", start: first + 1 }, found.records.slice(first).map((record, at) => this.#row(record, lanes, first + at))),
        ),
        h("div", { class: "parts" }, this.#listBranches(found.branches), this.#listBatches(found.batches)),
      ),
    );
  }

  #row(record, lanes, at) {
    const index = record.index ?? record.from ?? null;
    const says = h("bdi", {}, record.says);
    const line = h(
      "div",
      { class: "line" },
      h("span", { class: "type" }, record.type),
      index === null ? h("span", { class: "says" }, says) : h("button", { type: "button", class: "says link", onclick: () => this.#go(index) }, says),
      h("time", {}, when(record.time_ms)),
    );
    if (record.type === "message" && record.index !== null) {
      line.append(this.#ask("Rewind here", `Appends a record: the conversation goes on after message ${record.index}. What came later stays in the file as a branch.`, "Rewind", { action: "rewind", index: record.index }));
    }
    return h("li", { class: record.is_current ? "current" : "other", "aria-current": at === lanes.head ? "step" : null }, drawLanes(lanes, at), line);
  }

  #listBranches(branches) {
    if (branches.length < 2) return null;
    const rows = branches.map((branch) =>
      h(
        "li",
        {},
        h("bdi", { class: "title" }, branch.title || `Branch ${branch.number}`),
        h("span", { class: "quiet" }, `${counted(branch.messages, "message")} after record ${count(branch.after)}`),
        branch.is_current
          ? h("span", { class: "tag" }, "current")
          : this.#ask("Switch to this branch", "Appends a record: the conversation goes on at the end of this branch. The present one stays in the file.", "Switch", { action: "switch", branch: branch.number }),
      ),
    );
    return h("section", {}, h("h2", {}, "Branches"), h("ul", {}, rows));
  }

  #listBatches(batches) {
    if (!batches.length) return null;
    const rows = batches.map((batch) =>
      h(
        "li",
        {},
        h("span", { class: "title" }, `Batch ${batch.number}`),
        h("span", { class: "quiet" }, `${counted(batch.messages, "message")}, from message ${count(batch.boundary)} on`),
        batch.is_current
          ? h("span", { class: "tag" }, "current")
          : this.#ask("Roll back to this batch", `Appends a record: the messages of batch ${batch.number} are sent again, as before the view was changed. Nothing is deleted.`, "Roll back", { action: "rollback", batch: batch.number }),
      ),
    );
    return h("section", {}, h("h2", {}, "Batches"), h("ul", {}, rows));
  }

  /** A button that asks once, saying what will be appended; nothing where the file cannot be acted on. */
  #ask(name, says, verb, action) {
    if (!this.#context.session.can_act) return null;
    const place = h("span", { class: "act" });
    const button = h("button", { type: "button", class: "quiet-button", onclick: () => open() }, name);
    const close = () => {
      fill(place, button);
      button.focus();
    };
    const open = () => {
      const yes = h("button", { type: "button", class: "main", onclick: () => this.#act(action, close) }, verb);
      const no = h("button", { type: "button", onclick: close }, "Cancel");
      fill(place, h("span", { class: "confirm", role: "group", "aria-label": name, onkeydown: (event) => event.key === "Escape" && close() }, h("span", {}, says), yes, no));
      yes.focus();
    };
    return fill(place, button);
  }

  async #act(action, close) {
    const { session, params } = this.#context;
    const parameters = params.conversation ? { conversation: params.conversation } : {};
    try {
      const { says } = await post(`sessions/${session.id}/actions`, action, parameters);
      fill(this.#said, says);
      await this.#load();
    } catch (problem) {
      close();
      fill(this.#said, h("span", { class: "problem" }, problem.message));
    }
  }

  #go(index) {
    this.#context.go("conversation", { ...this.#context.query(), index });
  }
}

function summary({ records, branches, batches }) {
  const parts = [counted(branches.length || 1, "branch").replace("branchs", "branches"), counted(batches.length, "batch").replace("batchs", "batches")];
  return [h("strong", {}, parts[0]), `, ${parts[1]}, ${counted(records.length, "line")}. Nothing is ever deleted: the present path is drawn in full.`];
}

customElements.define("redline-branches", Branches);
