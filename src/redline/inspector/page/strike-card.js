// A strike as people judge it: what was there, what is sent, why, what it cost and saved, and the way back.
import { button, h } from "./dom.js";
import { counted, money, percent } from "./format.js";
import { line, said } from "./said.js";

/** Whether a strike applies in the request that is shown, or at the end where none is chosen. */
export function inForce({ first, end }, { request }) {
  return request ? first <= request.number && (end === null || end > request.number) : end === null;
}

export function badge(strike, view, fold) {
  const { first, end, because, tokens_before: before, tokens_after: after } = strike;
  const isStruck = inForce(strike, view);
  const isLater = first > view.request?.number;
  const struck = view.context.session.is_hypothetical ? "would be struck" : "struck";
  const standing = isStruck ? struck : isLater ? `${struck} from request ${first}` : `no longer struck since request ${end}`;
  const saved = isStruck && h("span", `· −${counted(before - after, "token")}`);
  return fold.button("strike", `badge${isStruck ? "" : " past"}`, [h("b", standing, ":"), " ", h("span", line(because)), " ", saved]);
}

export function struckPreview({ replacement }, { context }) {
  const word = context.session.is_hypothetical ? "would be sent" : "sent";
  return h("p.instead", replacement === null ? `Nothing ${word} in its place.` : [h("span", `${word}: `), line(replacement, 300)]);
}

/** All there is to know about a strike; `whole` is the part as said and as sent, once fetched. */
export function strikeCard(strike, message, view, { text, whole }) {
  const verb = view.context.session.is_hypothetical ? "would be" : "is";
  return h(
    "section.card",
    { "aria-label": `Strike ${strike.number}` },
    h(
      "div.sides",
      side(`What was there · ${counted(strike.tokens_before, "token")}`, text, "empty"),
      side(`What ${verb} sent · ${counted(strike.tokens_after, "token")}`, whole?.sent ?? strike.replacement, "nothing: it is removed"),
    ),
    h("dl", facts(strike, view).map(([name, value]) => value && [h("dt", name), h("dd", value)])),
    h("div.ways", wayBack(strike, message, view)),
  );
}

function side(title, text, otherwise) {
  return h("figure", h("figcaption", title), text ? h("pre.pre", { tabindex: 0 }, said(text)) : h("p.empty", otherwise));
}

function facts(strike, { context }) {
  const { first, end, ended_because: ended, chance, why_now: whyNow, saved_usd: saved, used_at: usedAt, used_words: words } = strike;
  const toRequest = (request, word) => button(`${word} request ${request}`, () => context.go("conversation", { request, index: null, at: null }), { class: "link" });
  const price = [
    `${counted(strike.tokens_before - strike.tokens_after, "token")} fewer in each request; `,
    saved !== null && `${money(saved)} so far; `,
    strike.rewrite_tokens ? `${counted(strike.rewrite_tokens, "token")} were cached anew when it was applied` : "nothing had to be cached anew",
  ];
  return [
    ["Reason", line(strike.because, 600)],
    ["Why now", whyNow && line(whyNow, 600)],
    ["Rule", h("code", line(strike.rule, 60))],
    ["In force", [toRequest(first, "since"), end !== null && ` until request ${end}`, ended && ` (${ended})`]],
    ["Price", price],
    ["Chance of use", chance !== null && `${percent(chance, 1)}, as estimated when it was struck`],
    ["Used again", usedAt !== null && [toRequest(usedAt, "at"), words && [": “", line(words, 300), "”"]]],
  ];
}

function wayBack({ number, end, is_undoable: isUndoable }, { index, is_pinned: isPinned }, view) {
  const { name, is_hypothetical: isHypothetical } = view.context.session;
  if (isHypothetical) return "Nothing was changed: this is what Redline would do with this session.";
  if (!isUndoable) return end === null && ["To undo it: ", h("code", line(`redline.open("${name}").undo(${number})`))];
  return [
    button("Undo this strike", () => view.act({ action: "undo", strike: number })),
    !isPinned && button("Pin this message", () => view.act({ action: "pin", index })),
    "Both append to the log; nothing is deleted.",
  ];
}
