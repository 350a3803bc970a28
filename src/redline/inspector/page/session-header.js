// The head of a session: what it is, its numbers and problems, its views, and under which policy it is looked at.
import { h } from "./dom.js";
import { brief, count, counted, money, percent } from "./format.js";
import { line } from "./said.js";

const TABS = { conversation: "Conversation", timeline: "Timeline", branches: "Branches", compare: "Compare", "what-if": "What if" };

export function sessionHeader(context) {
  const { session } = context;
  return [
    h("div", { class: "about" }, h("h1", {}, line(session.title || session.name, 160)), h("p", { class: "facts" }, facts(session))),
    problems(context),
    h("div", { class: "choices" }, tabs(context), conversations(context), policies(context)),
  ];
}

function facts(session) {
  const saved = session.cost_usd_without > session.input_cost_usd ? 1 - session.input_cost_usd / session.cost_usd_without : 0;
  const word = session.is_hypothetical ? "would be saved" : "saved";
  return [
    line(session.agent, 40),
    session.project ? h("span", { title: session.path }, line(session.project, 60)) : null,
    session.model ? line(session.model, 40) : null,
    counted(session.messages, "message"),
    session.tokens ? `${brief(session.tokens.sent)} tokens${session.tokens.struck ? `, ${brief(session.tokens.struck)} struck` : ""}` : null,
    session.is_pending ? "counting…" : null,
    session.cost_usd === null ? null : [money(session.cost_usd), saved > 0.005 ? h("b", { class: "saved" }, ` ${percent(saved)} ${word}`) : ""],
    session.observed ? h("em", {}, line(session.observed, 200)) : null,
  ]
    .filter((fact) => fact !== null)
    .map((fact) => h("span", {}, fact));
}

function problems(context) {
  const found = context.session.problems;
  if (!found.length) return null;
  const row = ({ index, law, rule, found: what }) => {
    const link = h("a", { href: context.href("conversation", { index }) }, `#${index}`);
    return h("li", {}, link, " ", line(what, 300), " ", h("code", {}, line(law || rule, 60)));
  };
  const rows = found.slice(0, 100).map(row);
  return h("details", { class: "problems" }, h("summary", {}, `${counted(found.length, "problem")} a provider would refuse`), h("ol", {}, rows));
}

function tabs(context) {
  const tab = ([view, name]) => h("a", { href: context.href(view), "aria-current": view === context.view ? "page" : null }, name);
  return h("nav", { class: "tabs", "aria-label": "Views" }, Object.entries(TABS).map(tab));
}

function conversations({ session, go, view }) {
  if (session.conversations.length < 2) return null;
  const option = ({ number, title, messages, is_subagent: isSubagent }) => {
    const label = [`${isSubagent ? "↳ " : ""}${number}: `, line(title, 50), ` (${count(messages)})`];
    return h("option", { value: number, selected: number === session.conversation }, label);
  };
  const onchange = ({ target }) => go(view, { conversation: target.value, request: null, index: null, at: null });
  return h("select", { "aria-label": "Conversation", onchange }, session.conversations.map(option));
}

/** "As sent", "With Redline", and what else was chosen; the policy that is meant without a choice has no parameter. */
function policies({ session, params, href, view }) {
  const usual = session.is_log ? "sent" : "default";
  const chosen = params.policy ?? usual;
  const choices = [["sent", "As sent"], ["default", session.is_log ? "Default policy" : "With Redline"]];
  if (!choices.some(([name]) => name === chosen)) choices.push([chosen, chosen.startsWith("{") ? "Custom" : chosen]);
  const choice = ([name, label]) => h("a", { href: href(view, { policy: name === usual ? null : name }), "aria-current": name === chosen ? "true" : null }, line(label, 24));
  return h("nav", { class: "segments", "aria-label": "Policy" }, choices.map(choice));
}
