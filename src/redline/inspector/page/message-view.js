// One message as people read it: who, when, how large, and its parts, each folded to what matters.
import { get } from "./api.js";
import { button, h } from "./dom.js";
import { bytes, count, counted, span, when } from "./format.js";
import { codeBlock, markdown } from "./markdown.js";
import { head, line, said } from "./said.js";
import { badge, inForce, strikeCard, struckPreview } from "./strike-card.js";

const RESULT_LINES = 14;
const TEXT_LINES = 40;
const STRUCK_LINES = 3;
const MOST_MARKS = 300;
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });

export function messageView(message, view) {
  const parts = h("div.parts", message.parts.map((part) => partView(part, message, view)));
  const words = view.context.params.text;
  if (words) highlight(parts, words);
  return [rail(message, view), parts];
}

function rail(message, view) {
  const { context, request } = view;
  const { index, time_ms: timeMs, is_pinned: isPinned, usage } = message;
  if (index === undefined) return h("div.rail", h("b", "🔧 repaired"));
  const nowMs = request?.time_ms ?? context.session.ended_ms;
  const paid = usage && `${count(usage.input)} in, ${count(usage.output)} out, ${count(usage.cache_read)} read from the cache`;
  const link = (label, params, title) => h("a", { href: context.href("conversation", { at: null, ...params }), title }, label);
  const saw = () => [" · ", link(`req. ${message.request}`, { request: message.request, index: null }, "What the model saw when it said this")];
  const clock = () => h("time", { title: `${when(timeMs)}; its age` }, CLOCK.format(timeMs), nowMs >= timeMs && ` · ${span(nowMs - timeMs)} old`, " · ");
  const pin = () => view.act({ action: isPinned ? "unpin" : "pin", index });
  return h(
    "div.rail",
    h("span", { title: message.model }, h("b", roleOf(message)), " ", link(`#${index}`, { index }), message.role === "assistant" && saw()),
    h("span", { title: paid }, timeMs && clock(), counted(message.tokens, "token")),
    isPinned && h("span.pinned", "pinned"),
    context.session.can_act && button(isPinned ? "Unpin" : "Pin", pin, { class: "quiet", "data-focus": `pin ${index}` }),
  );
}

/** Who speaks: results that a provider wants in a user's message are still a tool's. */
export function roleOf({ role, parts }) {
  return role === "user" && parts.length && parts.every(({ kind }) => kind === "result") ? "tool" : role;
}

function partView(part, message, view) {
  const strikes = (part.strikes ?? []).map((number) => view.strikes.get(number)).filter(Boolean);
  const present = strikes.filter((one) => inForce(one, view));
  const struck = present.findLast((one) => !one.is_fold); // it may stand on a fold
  const folded = !struck && present.at(-1);
  const strike = struck || folded || strikes.at(-1);
  const fold = folding(part, message, view);
  const isOpen = strike && fold.isOpen("strike");
  if (isOpen) fold.fetch();
  return h(
    "div",
    { class: `part ${part.kind}${part.is_error ? " error" : ""}${struck ? " struck" : folded ? " folded" : ""}`, "data-at": part.at },
    strike && badge(strike, view, fold),
    isOpen && !folded && strikeCard(strike, message, view, fold),
    !struck ? (VIEWS[part.kind] ?? VIEWS.other)(part, folded && !isOpen ? asSent(fold, folded) : fold, view) : !isOpen && struckPart(part, strike, fold, view),
    isOpen && folded && strikeCard(strike, message, view, fold),
  );
}

/** A folded part in the words that are sent; unfolded, it is shown as it was said. */
function asSent(fold, { sent_text: sent, replacement }) {
  return { ...fold, text: sent ?? replacement, isPartial: false };
}

function struckPart(part, strike, { text }, view) {
  return [part.tool && heading(part, view, title(part)), text && h("del.pre", said(head(text, STRUCK_LINES))), struckPreview(strike, view)];
}

/** The fold states of a part, and its whole text where it was fetched. */
function folding(part, { index, key = index }, view) {
  const place = `${key}/${part.at}`;
  const whole = view.texts.get(place);
  const given = part.text || part.input || "";
  return {
    whole,
    text: whole?.text ?? given,
    isPartial: !whole && part.length > given.length,
    isOpen: (name) => view.opened.get(`${place}/${name}`) ?? (name === "call" && Boolean(part.diff)),
    button(name, style, label) {
      const isOpen = this.isOpen(name);
      const onclick = () => {
        view.opened.set(`${place}/${name}`, !isOpen);
        view.refresh(key);
      };
      return button(label, onclick, { class: style, "aria-expanded": String(isOpen), "data-focus": `${place}/${name}` });
    },
    async fetch() {
      if (view.texts.has(place) || index === undefined) return;
      view.texts.set(place, undefined);
      const asked = get(`${view.path}/part`, { ...view.context.query(), index, at: part.at });
      view.texts.set(place, await asked.catch((problem) => view.fail(problem)));
      view.refresh(key);
    },
  };
}

const VIEWS = {
  text: (part, fold) => clamped(part, fold, TEXT_LINES, prose),
  reasoning: (part, fold) => disclosed(fold.text ? "Reasoning" : "Reasoning (hidden)", fold, prose),
  call: (part, fold, view) => [
    heading(part, view, fold.button("call", "fold", title(part))),
    fold.isOpen("call") && (part.diff ? diffView(part.diff, fold) : clamped(part, fold, TEXT_LINES, codeBlock)),
  ],
  result: (part, fold, view) => [heading(part, view, title(part)), clamped(part, fold, RESULT_LINES, (text) => (text ? h("pre.pre", said(text)) : h("p.empty", "empty")))],
  media: ({ image, media_type: type }) => {
    if (!image) return h("p.empty", line(type ?? "media", 80));
    const label = `${image.media_type}, ${bytes(image.bytes)}`;
    return h("figure", h("img", { src: image.url, alt: `Image in the conversation (${label})`, loading: "lazy" }), h("figcaption", label));
  },
  other: (part, fold) => disclosed("Other content", fold, codeBlock),
};

const prose = (text) => h("div.prose", markdown(text));

function title({ kind, tool, says }) {
  return h("span", kind === "result" ? ["result of ", h("b", line(tool ?? "a call", 60))] : [h("b", line(tool, 60)), " ", line(says)]);
}

function heading({ kind, pair, is_error: isError }, view, name) {
  const toPair = () => view.jump(pair.index, pair.at);
  return h("p.heading", name, isError && h("strong.failed", "failed"), pair && button(kind === "call" ? "Result ↓" : "Call ↑", toPair, { class: "quiet" }));
}

function disclosed(name, fold, body) {
  const isOpen = fold.isOpen("body");
  return [h("p.heading", fold.button("body", "fold", [name, " ", !isOpen && line(fold.text, 120)])), isOpen && body(fold.text)];
}

/** A text shown up to some lines, with a button for the rest; what the server held back is fetched then. */
function clamped(part, fold, lines, body) {
  const short = head(fold.text, lines);
  const isOpen = fold.isOpen("all");
  if (isOpen && fold.isPartial) fold.fetch();
  const all = fold.isPartial ? counted(part.length, "character") : counted(fold.text.split("\n").length, "line");
  return [body(isOpen ? fold.text : short), (fold.isPartial || short !== fold.text) && more(fold, all)];
}

function more(fold, all) {
  return fold.button("all", "quiet more", fold.isOpen("all") ? "Show less" : `Show all ${all}`);
}

function diffView(diff, fold) {
  const names = { "+": "added", "-": "removed" };
  const shown = fold.isOpen("all") ? diff : diff.slice(0, RESULT_LINES);
  const rows = shown.map(([sign, text]) => h("span", { class: names[sign] }, h("i", sign.replace("-", "−")), said(text), "\n"));
  return [h("pre.pre.diff", { tabindex: 0, "aria-label": "Changes" }, rows), diff.length > RESULT_LINES && more(fold, counted(diff.length, "line"))];
}

function highlight(root, words) {
  const wanted = new RegExp(words.replace(/[^\w\s]/g, "\\$&"), "i");
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let marks = 0; marks < MOST_MARKS && walker.nextNode(); ) {
    const place = wanted.exec(walker.currentNode.data);
    if (!place) continue;
    const found = walker.currentNode.splitText(place.index);
    found.splitText(place[0].length);
    const mark = h("mark");
    found.replaceWith(mark);
    mark.append(found);
    walker.currentNode = found;
    marks += 1;
  }
}
