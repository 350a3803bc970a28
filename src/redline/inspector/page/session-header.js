// The head of a session: what it is, its numbers and problems, its views, and under which policy it is looked at.
import { h } from "./dom.js";
import { brief, count, counted, money, percent } from "./format.js";
import { line } from "./said.js";

export const TABS = { conversation: "Conversation", timeline: "Timeline", branches: "Branches", compare: "Compare", "what-if": "What if" };

export function sessionHeader(context) {
  const { session, href, view } = context;
  const tabs = Object.entries(TABS).map(([name, label]) => link(label, href(name), name === view));
  return [
    h("div.about", h("h1", line(session.title || session.name, 160)), h("p.facts", facts(session).filter(Boolean).map((fact) => h("span", fact)))),
    problems("problem", " a provider would refuse", session.problems.slice(0, 100), ({ index, law, rule, found }) => [
      h("a", { href: href("conversation", { index }) }, `#${index}`), " ", line(found, 300), " ", h("code", line(law || rule, 60)),
    ]),
    h("div.choices", h("nav.tabs", { "aria-label": "Views" }, tabs), conversations(context), policies(context)),
  ];
}

export function problems(what, happened, found, row) {
  if (!found.length) return null;
  return h("details.problems", h("summary", counted(found.length, what), happened), h("ol", found.map((one) => h("li", row(one)))));
}

function link(label, href, isCurrent) {
  return h("a", { href, "aria-current": isCurrent && "true" }, label);
}

function facts(session) {
  const { project, model, tokens, observed } = session;
  const saved = savedShare(session);
  return [
    line(session.agent, 40),
    project && h("span", { title: session.path }, line(project, 60)),
    model && line(model, 40),
    counted(session.messages, "message"),
    tokens && `${brief(tokens.sent)} tokens${tokens.struck ? `, ${brief(tokens.struck)} struck` : ""}${tokens.folded ? `, ${brief(tokens.folded)} folded` : ""}`,
    session.is_pending && "counting…",
    session.cost_usd !== null && [h("span.cost", { title: "As the provider reported its usage, at list prices" }, money(session.cost_usd)), saved > 0.005 && h("b.saved", ` ${percent(saved)} ${session.is_would ? "would be saved" : "saved"}`)],
    session.hook_folds > 0 && h("span", { title: `${counted(session.hook_folds, "output")} folded by the agent's hook; tokens estimated from the characters it measured` }, `${brief(session.hook_saved_tokens)} tokens less by hooks`),
    session.missing_tokens > 0 && !session.is_log && h("em", "It ran behind Redline, or another program that leaves things out"),
    observed && h("em", line(observed)),
  ];
}

/** The share of the bill that strikes saved: by what was reported where they were made, by the model of the bill where not. */
function savedShare(session) {
  if (session.missing_tokens > 0 && !session.is_log) return 0; // what could be struck was struck when it was sent
  if (session.is_hypothetical) return 1 - session.input_cost_usd / session.cost_usd_without;
  return session.saved_usd / (session.cost_usd + (session.is_would ? 0 : session.saved_usd));
}

function conversations({ session, go, view }) {
  if (session.conversations.length < 2) return null;
  const option = ({ number, title, messages, is_subagent: isSubagent }) =>
    h("option", { value: number, selected: number === session.conversation }, isSubagent && "↳ ", `${number}: `, line(title, 50), ` (${count(messages)})`);
  const onchange = ({ target }) => go(view, { conversation: target.value, request: null, index: null, at: null });
  return h("select", { "aria-label": "Conversation", onchange }, session.conversations.map(option));
}

/** The policy that is meant without a choice has no parameter. */
function policies({ session, params, href, view }) {
  const usual = session.is_log ? "sent" : "careful";
  const chosen = params.policy ?? usual;
  const names = { sent: "As sent", careful: session.is_log ? "With careful" : "With Redline" };
  const choice = (name) => link(line(names[name] ?? (name[0] === "{" ? "Custom" : name), 24), href(view, { policy: name === usual ? null : name }), name === chosen);
  return h("nav.segments", { "aria-label": "Policy" }, [...new Set(["sent", "careful", chosen])].map(choice));
}
