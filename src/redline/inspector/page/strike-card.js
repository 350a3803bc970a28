// A strike as people judge it: what was there, what is sent, why, what it cost and saved, and the way back.
import { button, h } from "./dom.js";
import { counted, money, percent } from "./format.js";
import { line, said } from "./said.js";

/** Whether a strike applies in the request that is shown, or at the end where none is chosen. */
export function inForce({ first, end }, { request }) {
  return request ? first <= request.number && (end === null || end > request.number) : end === null;
}

/** What was done to a part: "struck", "folded", "referred"; a fold loses nothing, or says where the whole is. */
export function badge(strike, view, fold) {
  const { first, end, because, does, fate, is_fold: isFold, tokens_before: before, tokens_after: after } = strike;
  const isPresent = inForce(strike, view);
  const isLater = first > view.request?.number;
  const done = isFold ? does : "struck";
  const verb = view.context.session.is_hypothetical ? `would be ${done}` : done;
  const standing = isPresent ? verb : isLater ? `${verb} from request ${first}` : `no longer ${done} since request ${end}`;
  const saved = isPresent && h("span", `· −${counted(before - after, "token")}`, fate && [" · ", line(fate, 100)]);
  const style = `badge${isPresent ? "" : " past"}${isFold ? " fold" : ""}`;
  return fold.button("strike", style, [h("b", standing, ":"), " ", h("span", line(because)), " ", saved]);
}

export function struckPreview({ replacement }, { context }) {
  const word = context.session.is_hypothetical ? "would be sent" : "sent";
  return h("p.instead", replacement === null ? `Nothing ${word} in its place.` : [h("span", `${word}: `), line(replacement, 300)]);
}

/** All there is to know about a strike; `whole` is the part as said and as sent, once fetched. A fold's are shown above it. */
export function strikeCard(strike, message, view, { text, whole }) {
  const verb = view.context.session.is_hypothetical ? "would be" : "is";
  return h(
    "section.card",
    { "aria-label": `${strike.is_fold ? "Fold" : "Strike"} ${strike.number}` },
    !strike.is_fold && h(
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

function facts(strike, view) {
  const { context } = view;
  const { first, end, ended_because: ended, chance, why_now: whyNow, saved_usd: saved, used_at: usedAt, used_words: words } = strike;
  const toRequest = (request, word) => button(`${word} request ${request}`, () => context.go("conversation", { request, index: null, at: null }), { class: "link" });
  const price = [
    `${counted(strike.tokens_before - strike.tokens_after, "token")} fewer in each request; `,
    saved !== null && `${money(saved)} so far; `,
    strike.rewrite_tokens ? `${counted(strike.rewrite_tokens, "token")} were cached anew when it was applied` : "nothing had to be cached anew",
  ];
  const lead = ({ index, at, says }) => h("li", button(line(says, 200), () => view.jump(index, at), { class: "link" }));
  return [
    ["Reason", line(strike.because, 600)],
    ["Lost", strike.is_fold && line(strike.fate, 600)],
    ["Leads to", strike.refers.length > 0 && h("ul.list", strike.refers.map(lead))],
    ["Why now", whyNow && line(whyNow, 600)],
    ["Rule", h("code", line(strike.rule, 60))],
    ["In force", [toRequest(first, "since"), end !== null && ` until request ${end}`, ended && ` (${ended})`]],
    ["Price", price],
    ["Chance of use", chance !== null && `${percent(chance, 1)}, as estimated when it was struck`],
    ["Used again", usedAt !== null && [toRequest(usedAt, "at"), words && [": “", line(words, 300), "”"]]],
  ];
}

function wayBack({ number, end, is_undoable: isUndoable, is_fold: isFold }, { index, is_pinned: isPinned }, view) {
  const { name, is_hypothetical: isHypothetical } = view.context.session;
  if (isHypothetical) return "Nothing was changed: this is what Redline would do with this session.";
  if (!isUndoable) return end === null && ["To undo it: ", h("code", line(`redline.open("${name}").undo(${number})`))];
  return [
    button(isFold ? "Undo this fold" : "Undo this strike", () => view.act({ action: "undo", strike: number })),
    !isPinned && button("Pin this message", () => view.act({ action: "pin", index })),
    "Both append to the log; nothing is deleted.",
  ];
}
