// One message as people read it: who, when, how large, and its parts, each folded to what matters.
import { get } from "./api.js";
import { h } from "./dom.js";
import { bytes, count, counted, span, when } from "./format.js";
import { codeBlock, markdown } from "./markdown.js";
import { head, line, said } from "./said.js";
import { badge, inForce, strikeCard, struckPreview } from "./strike-card.js";

const RESULT_LINES = 14;
const TEXT_LINES = 40;
const STRUCK_LINES = 3;
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const MOST_MARKS = 300;

/**
 * The nodes of a message's row. `scene` is what surrounds it: {session, strikes, request, timeMs, words, opened (fold states), texts
 * (whole texts that were fetched), jump(index, at), link(index), refresh(index), act(body), fail(problem)}.
 */
export function messageView(message, scene) {
  const parts = h("div", { class: "parts" }, message.parts.map((part) => partView(part, message, scene)));
  if (scene.words) highlight(parts, scene.words);
  return [rail(message, scene), parts];
}

function rail(message, scene) {
  const { index, tokens, time_ms: timeMs, is_pinned: isPinned, usage } = message;
  if (index === undefined) return h("div", { class: "rail" }, h("b", {}, "🔧 repaired"));
  const age = timeMs && scene.timeMs >= timeMs ? ` · ${span(scene.timeMs - timeMs)}` : "";
  const paid = usage ? `${count(usage.input)} in, ${count(usage.output)} out, ${count(usage.cache_read)} read from the cache` : null;
  const saw = { href: scene.link({ request: message.request, index: null, at: null }), title: "What the model saw when it said this" };
  const pin = { class: "quiet", type: "button", "data-focus": `pin ${index}`, onclick: () => scene.act({ action: isPinned ? "unpin" : "pin", index }) };
  return h(
    "div",
    { class: "rail" },
    h(
      "span",
      { title: message.model },
      [h("b", {}, roleOf(message)), " ", h("a", { href: scene.link({ index, at: null }) }, `#${index}`)],
      message.role === "assistant" ? [" · ", h("a", saw, `req. ${message.request}`)] : null,
    ),
    h("span", {}, timeMs ? h("time", { title: `${when(timeMs)}; its age` }, CLOCK.format(timeMs), age, " · ") : null, h("span", { title: paid }, counted(tokens, "token"))),
    isPinned ? h("span", { class: "pinned" }, "pinned") : null,
    scene.session.can_act ? h("button", pin, isPinned ? "Unpin" : "Pin") : null,
  );
}

/** Who speaks: results that a provider wants in a user's message are still a tool's. */
export function roleOf({ role, parts }) {
  return role === "user" && parts.length && parts.every(({ kind }) => kind === "result") ? "tool" : role;
}

function partView(part, message, scene) {
  const strikes = (part.strikes ?? []).map((number) => scene.strikes.get(number)).filter(Boolean);
  const inForceNow = strikes.findLast((one) => inForce(one, scene.request));
  const strike = inForceNow ?? strikes.at(-1);
  const fold = folding(part, message, scene);
  const about = strike ? [badge(strike, scene, fold), card(strike, part, message, scene, fold)] : null;
  const body = inForceNow ? struckPart(part, strike, fold, scene) : (VIEWS[part.kind] ?? otherPart)(part, fold, scene);
  return h("div", { class: `part ${part.kind}${part.is_error ? " error" : ""}${inForceNow ? " struck" : ""}`, "data-at": part.at }, about, body);
}

/** The first lines of what was struck; all of it is in the card. */
function struckPart(part, strike, fold, scene) {
  if (fold.isOpen("strike")) return null;
  return [partTitle(part, scene), fold.text ? h("del", { class: "pre" }, said(head(fold.text, STRUCK_LINES))) : null, struckPreview(strike, scene)];
}

function card(strike, part, message, scene, fold) {
  if (!fold.isOpen("strike")) return null;
  fold.fetch();
  return strikeCard(strike, { part, message, scene, texts: fold.whole });
}

/** The fold states of a part, and its whole text where it was fetched. */
function folding(part, message, scene) {
  const key = message.key ?? message.index;
  const place = `${key}/${part.at}`;
  const whole = scene.texts.get(place);
  const given = part.text || part.input || "";
  return {
    whole,
    text: whole?.text ?? given,
    isPartial: !whole && part.length > given.length,
    isOpen: (name, otherwise = false) => scene.opened.get(`${place}/${name}`) ?? otherwise,
    button(name, style, isOpen, label) {
      const onclick = () => {
        scene.opened.set(`${place}/${name}`, !isOpen);
        scene.refresh(key);
      };
      return h("button", { class: style, type: "button", "aria-expanded": String(isOpen), "data-focus": `${place}/${name}`, onclick }, label);
    },
    async fetch() {
      if (whole || scene.texts.has(place) || message.index === undefined) return;
      scene.texts.set(place, undefined);
      try {
        scene.texts.set(place, await get(`sessions/${scene.session.id}/part`, { ...scene.query(), index: message.index, at: part.at }));
      } catch (problem) {
        scene.fail(problem);
      }
      scene.refresh(key);
    },
  };
}

const VIEWS = {
  text: (part, fold) => clamped(part, fold, TEXT_LINES, (text) => h("div", { class: "prose" }, markdown(text))),
  reasoning: (part, fold) => disclosure(fold.text ? "Reasoning" : "Reasoning (hidden)", fold, () => h("div", { class: "prose" }, markdown(fold.text))),
  call: callPart,
  result: (part, fold, scene) => [partTitle(part, scene), clamped(part, fold, RESULT_LINES, preformatted)],
  media: mediaPart,
};

function preformatted(text) {
  return text ? h("pre", { class: "pre" }, said(text)) : h("p", { class: "empty" }, "empty");
}

function partTitle(part, scene) {
  if (part.kind !== "result" && part.kind !== "call") return null;
  const name = part.kind === "result" ? ["result of ", h("b", {}, line(part.tool ?? "a call", 60))] : [h("b", {}, line(part.tool, 60)), " ", line(part.says)];
  return h("p", { class: "heading" }, h("span", {}, name), part.is_error ? h("strong", { class: "failed" }, "failed") : null, pairLink(part, scene));
}

function pairLink(part, scene) {
  if (!part.pair) return null;
  const { index, at } = part.pair;
  const label = part.kind === "call" ? "Result ↓" : "Call ↑";
  return h("button", { class: "quiet", type: "button", title: `Go to message ${index}`, onclick: () => scene.jump(index, at) }, label);
}

function callPart(part, fold, scene) {
  const body = () => (part.diff ? diffView(part.diff, fold) : clamped(part, fold, TEXT_LINES, codeBlock));
  const isOpen = fold.isOpen("call", Boolean(part.diff));
  const title = h("p", { class: "heading" }, fold.button("call", "fold", isOpen, [h("b", {}, line(part.tool, 60)), " ", line(part.says)]), pairLink(part, scene));
  return [title, isOpen ? body() : null];
}

function disclosure(name, fold, body) {
  const isOpen = fold.isOpen("body");
  const label = [name, " ", isOpen ? null : line(fold.text, 120)];
  return [h("p", { class: "heading" }, fold.button("body", "fold", isOpen, label)), isOpen ? body() : null];
}

function otherPart(part, fold) {
  return disclosure("Other content", fold, () => codeBlock(fold.text));
}

function mediaPart(part) {
  if (!part.image) return h("p", { class: "empty" }, line(part.media_type ?? "media", 80));
  const label = `${part.image.media_type}, ${bytes(part.image.bytes)}`;
  return h("figure", {}, h("img", { src: part.image.url, alt: `Image in the conversation (${label})`, loading: "lazy" }), h("figcaption", {}, label));
}

/** A text shown up to some lines, with a button for the rest; what the server held back is fetched then. */
function clamped(part, fold, lines, view) {
  const short = head(fold.text, lines);
  const isCut = short.length < fold.text.length || fold.isPartial;
  const isOpen = fold.isOpen("all");
  if (isOpen && fold.isPartial) fold.fetch();
  const rest = fold.isPartial ? `${count(part.length)} characters` : counted(fold.text.split("\n").length, "line");
  return [view(isOpen ? fold.text : short), isCut ? fold.button("all", "quiet more", isOpen, isOpen ? "Show less" : `Show all ${rest}`) : null];
}

function diffView(diff, fold) {
  const isOpen = fold.isOpen("all");
  const shown = isOpen ? diff : diff.slice(0, RESULT_LINES);
  const names = { "+": "added", "-": "removed" };
  const rows = shown.map(([sign, text]) => h("span", { class: names[sign] ?? "kept" }, h("i", {}, sign === "-" ? "−" : sign), said(text), "\n"));
  const more = fold.button("all", "quiet more", isOpen, isOpen ? "Show less" : `Show all ${counted(diff.length, "line")}`);
  return [h("pre", { class: "pre diff", tabindex: 0, "aria-label": "Changes" }, rows), diff.length > RESULT_LINES ? more : null];
}

/** Wraps each place where the words occur in a <mark>. */
function highlight(root, words) {
  const wanted = words.toLowerCase();
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  let marks = 0;
  for (let node of nodes) {
    for (let at = node.data.toLowerCase().indexOf(wanted); at !== -1 && marks < MOST_MARKS; at = node.data.toLowerCase().indexOf(wanted)) {
      const found = node.splitText(at);
      node = found.splitText(Math.min(wanted.length, found.length));
      const marked = h("mark");
      found.replaceWith(marked);
      marked.append(found);
      marks += 1;
    }
  }
}
