// A strike as people judge it: what was there, what is sent, why, what it cost and saved, and the way back.
import { h } from "./dom.js";
import { counted, money, percent } from "./format.js";
import { line, said } from "./said.js";

/** Whether a strike applies in a request, or at the end where none is chosen. */
export function inForce(strike, request) {
  if (request === null) return strike.end === null;
  return strike.first <= request && (strike.end === null || strike.end > request);
}

/** The line above a struck part; a click opens the card. */
export function badge(strike, scene, fold) {
  const isStruck = inForce(strike, scene.request);
  const saved = isStruck ? h("span", {}, ` · −${counted(strike.tokens_before - strike.tokens_after, "token")}`) : null;
  const label = [h("b", {}, standing(strike, scene)), " ", h("span", {}, line(strike.because)), saved];
  return fold.button("strike", isStruck ? "badge" : "badge past", fold.isOpen("strike"), label);
}

function standing(strike, scene) {
  const { request, session } = scene;
  if (inForce(strike, request)) return session.is_hypothetical ? "would be struck:" : "struck:";
  if (request !== null && strike.first > request) return `${session.is_hypothetical ? "would be struck" : "struck"} from request ${strike.first}:`;
  return `no longer struck since request ${strike.end}:`;
}

/** What is sent in place of a struck part, in short. */
export function struckPreview(strike, scene) {
  const word = scene.session.is_hypothetical ? "would be sent" : "sent";
  if (strike.replacement === null) return h("p", { class: "instead" }, `Nothing ${word} in its place.`);
  return h("p", { class: "instead" }, h("span", {}, `${word}: `), line(strike.replacement, 300));
}

/** All there is to know about a strike. `texts` is the whole part as said and as sent, once fetched. */
export function strikeCard(strike, { part, message, scene, texts }) {
  const sent = texts && "sent" in texts ? texts.sent : strike.replacement;
  const isHypothetical = scene.session.is_hypothetical;
  return h(
    "section",
    { class: "card", "aria-label": `Strike ${strike.number}` },
    h(
      "div",
      { class: "sides" },
      side(`What was there · ${counted(strike.tokens_before, "token")}`, texts?.text ?? (part.text || part.input || "")),
      side(`What ${isHypothetical ? "would be" : "is"} sent · ${counted(strike.tokens_after, "token")}`, sent ?? "", "nothing: it is removed"),
    ),
    h("dl", {}, facts(strike, scene).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    h("div", { class: "ways" }, wayBack(strike, message, scene)),
  );
}

function side(title, text, otherwise = "empty") {
  return h("figure", {}, h("figcaption", {}, title), text ? h("pre", { class: "pre", tabindex: 0 }, said(text)) : h("p", { class: "empty" }, otherwise));
}

function facts(strike, scene) {
  const difference = strike.tokens_before - strike.tokens_after;
  const until = strike.end === null ? "" : ` until request ${strike.end}${strike.ended_because ? ` (${strike.ended_because})` : ""}`;
  const anew = strike.rewrite_tokens ? `${counted(strike.rewrite_tokens, "token")} were cached anew when it was applied` : "nothing had to be cached anew";
  const saved = strike.saved_usd === null ? "" : `; ${money(strike.saved_usd)} so far`;
  return [
    ["Reason", line(strike.because, 600)],
    ["Why now", strike.why_now ? line(strike.why_now, 600) : null],
    ["Rule", h("code", {}, line(strike.rule, 60))],
    ["In force", [toRequest(scene, strike.first, `since request ${strike.first}`), until]],
    ["Price", `${counted(difference, "token")} fewer in each request${saved}; ${anew}`],
    ["Chance of use", strike.chance === null ? null : `${percent(strike.chance, 1)} of such parts were used again in recorded sessions`],
    ["Used again", strike.used_at === null ? null : [toRequest(scene, strike.used_at, `at request ${strike.used_at}`), strike.used_words ? [": “", line(strike.used_words, 300), "”"] : ""]],
  ].filter(([, value]) => value);
}

function toRequest(scene, request, label) {
  return h("button", { class: "link", type: "button", onclick: () => scene.toRequest(request) }, label);
}

function wayBack(strike, message, scene) {
  const { session } = scene;
  if (session.is_hypothetical) return h("p", {}, "Nothing was changed: this is what Redline would do with this session.");
  const undo = () => scene.act({ action: "undo", strike: strike.number });
  const pin = () => scene.act({ action: "pin", index: message.index });
  if (strike.is_undoable && session.can_act) {
    return [
      h("button", { type: "button", onclick: undo }, "Undo this strike"),
      message.is_pinned ? null : h("button", { type: "button", onclick: pin }, "Pin this message"),
      h("p", {}, "Both append to the log; nothing is deleted."),
    ];
  }
  return strike.end === null ? h("p", {}, "To undo it: ", h("code", {}, line(`redline.open("${session.name}").undo(${strike.number})`))) : null;
}
