// The record as a tree: messages, strikes, branches and batches, and the way back to each of them.
import { DrawnView, button, count, counted, fill, get, h, line, link, post, when } from "./drawn-view.js";
import { drawLanes } from "./lanes.js";

const ROWS = 400;
const ACTIONS = {
  rewind: ["index", "Rewind", "here", "goes on after message #. What came later stays in the file as a branch."],
  switch: ["branch", "Switch", "to this branch", "goes on at the end of branch #. The present one stays in the file."],
  rollback: ["batch", "Roll back", "to this batch", "sends the messages of batch # again. Nothing is deleted."],
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
    const records = found.records.slice(-most);
    const earlier = found.records.length - records.length;
    if (!records.length) return this.say("Nothing is recorded in this conversation yet.");
    const lanes = drawLanes(records);
    const tree = h("ol.tree", { "aria-label": "Records, oldest first" }, records.map((record, row) => this.#row(record, lanes[row])));
    tree.style.setProperty("--lanes", `${lanes[0].getAttribute("width")}px`);
    const more = earlier > 0 && button(`${counted(earlier, "earlier line")}…`, () => this.place(found, most + ROWS));
    const lists = [
      this.#list("Branch", found.branches, "switch", (one) => `${counted(one.messages, "message")} after record ${count(one.after)}`),
      this.#list("Batch", found.batches, "rollback", (one) => `from message ${count(one.boundary)} on`),
    ];
    const none = !found.branches.length && !found.batches.length && h("p.says", "No branches, no batches: all was said in one line.");
    fill(this, this.said, h("div.columns", h("div", more, tree, none), h("div", lists)));
  }

  #row({ index, is_current: isCurrent, type, says, time_ms: time, to }, lanes) {
    const words = h("bdi", line(says));
    const text = h("span.text", index === null ? words : link(words, () => this.open({ index })));
    return h(isCurrent ? "li" : "li.quiet", lanes, h("span.type", type), text, h("time", when(time)), to && this.#offer("rewind", to - 1));
  }

  #list(name, items, action, inWords) {
    const row = (item) => {
      const offer = item.is_current ? h("span.tag", "current") : this.#offer(action, item.number);
      return h("li", `${name} ${item.number}`, h("small", inWords(item)), offer);
    };
    return items.length > 0 && [h("h2", name, "es"), h("ul.list", items.map(row))];
  }

  /** A button that asks once, saying what will be appended. */
  #offer(action, number) {
    if (!this.context.session.can_act) return null;
    const [key, verb, where, says] = ACTIONS[action];
    const name = `${verb} ${where}`;
    const place = h("span.act");
    const close = () => fill(place, start).firstChild.focus();
    const start = button(name, () => {
      const yes = button(verb, () => this.#act({ action, [key]: number }, close), { class: "main" });
      const words = h("span", "A record is appended: the conversation ", says.replace("#", number));
      const onkeydown = ({ key: pressed }) => pressed === "Escape" && close();
      fill(place, h("span.confirm.inline", { role: "group", "aria-label": name, onkeydown }, words, yes, button("Cancel", close)));
      yes.focus();
    });
    return fill(place, start);
  }

  async #act(action, close) {
    const { session, query } = this.context;
    try {
      const { says } = await post(`sessions/${session.id}/actions`, action, { conversation: query().conversation ?? 0 });
      fill(this.said, says).focus();
      this.load();
    } catch (problem) {
      close();
      this.fail(problem);
    }
  }
}

customElements.define("redline-branches", BranchesView);
