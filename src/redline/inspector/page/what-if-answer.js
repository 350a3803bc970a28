// What a policy would have done to a session: money, tokens, both risks, and the policy as a text to take away.
import { amount, drawLines, onWidth, scale } from "./chart.js";
import { brief, button, count, counted, facts, fill, fold, h, line, link, percent, strong, svg, table } from "./drawn-view.js";
import { spaced } from "./policy-form.js";

const QUOTED = "The agent later read the same lines again, or said a whole line that was only in what had been struck.";
const STRICT = "The agent later used a rare word, such as a path, that was only in what had been struck. Much of it did no harm.";

const AGAIN = "The agent asked again for what had been struck. It stays from then on; struck once more, it would be a loop.";

/** {element, show(found)}; `open(params)` opens the conversation with the policy. */
export function whatIfAnswer(open) {
  const [numbers, curves, details] = [h("dl.figures"), h("div.curves"), h("div")];
  const [toml, python] = ["redline.toml", "Python"].map(textToCopy);
  const look = button("Look at the conversation with it", () => open({}), { class: "main" });
  const taken = [h("h2", "Take it with you"), h("p.inline", toml.copy, python.copy, look), toml.shown, python.shown];
  let found = null;
  const draw = () => found?.requests && fill(curves, charts(found, curves.clientWidth));
  const show = (answer) => {
    found = answer;
    fill(numbers, facts(figures(found)));
    fill(details, risks(found), misses(found.misses, open), byRule(found.by_rule));
    toml.set(found.toml);
    python.set(found.python);
    draw();
  };
  onWidth(curves, draw);
  return { element: h("section", { "aria-label": "What it would have done" }, numbers, curves, details, taken), show };
}

function figures(found) {
  const format = amount(found.unit);
  return [
    ["Bill", format(found.cost), `${format(found.cost_with_rereads)} if all that was used had been read again`],
    ["Tokens sent", brief(found.tokens), `of ${brief(found.tokens_without)}, in ${counted(found.requests, "request")}`],
    ["Read from cache", percent(found.read_share), "of what was sent"],
    ["Rewrites", count(found.rewrites), "of what was cached"],
    ["Strikes", count(found.strikes), `parts of messages, ${counted(found.struck_tokens, "token")}`],
    ["Folds", count(found.folds), `parts made smaller, ${counted(found.folded_tokens, "token")}`],
  ].map(([name, value, says]) => [name, [strong(value), h("small", says)]]);
}

function risks({ may_be_missed: strikes, requests, quoted, strict, rereads }) {
  const part = (number, whole, what) => [strong(counted(number, what)), ` (${percent(number / whole, 1)})`];
  const told = (name, risk, says) => {
    const seen = [part(risk.strikes, strikes, "strike"), " in ", part(risk.requests, requests, "request")];
    return h("div", name, h("p", risk.strikes ? seen : "None seen."), h("small", says));
  };
  const again = [strong(counted(rereads.asked_again, "result")), `, of which ${count(rereads.struck_again)} struck again`];
  const loops = h("div", "Asked for again", h("p", rereads.asked_again ? again : "None seen."), h("small", AGAIN));
  return [
    h("h2", "Risk"),
    h("div.pair", told("Read or quoted again", quoted, QUOTED), told("Named again", strict, STRICT), loops),
  ];
}

function misses(found, open) {
  const row = ({ index, at, request, words }) => {
    const message = link(`Message ${count(index)}`, () => open({ index, at }));
    const use = link(`request ${count(request)}`, () => open({ request }));
    return h("li", message, ", used again at ", use, ": ", h("bdi", "“", line(words, 120), "”"));
  };
  return found.length > 0 && fold(`${counted(found.length, "time")} it was struck and used again`, h("ul.list", found.map(row)));
}

function byRule(rules) {
  const found = Object.entries(rules).sort(([, one], [, other]) => other.tokens - one.tokens);
  const rows = found.map(([name, { strikes, tokens }]) => {
    const bar = h("span.amount");
    bar.style.width = `${(60 * tokens) / (found[0][1].tokens || 1)}%`;
    return [spaced(name), count(strikes), [bar, " ", count(tokens)]];
  });
  return rows.length > 0 && [h("h2", "By rule"), table("", ["Rule", "Parts", "Tokens"], rows)];
}

function charts({ curve, unit }, room) {
  const width = room > 620 ? Math.floor(room / 2) - 17 : room;
  const place = { left: 52, right: width - 8, top: 30, bottom: 150 };
  const xs = curve.points.map(scale(curve.points[0], curve.points.at(-1), place.left, place.right));
  const chart = (title, kind, all, chosen) => {
    const series = [{ name: "everything sent", values: all }, { name: "this policy", values: chosen }];
    const said = series.map(({ name, values }) => `${amount(kind)(values.at(-1))} with ${name}`).join(", ");
    const size = { class: "drawing", width, height: 160, role: "img", "aria-label": `${title}: ${said}` };
    return svg("svg", size, drawLines(title, place, xs, series, kind));
  };
  return [chart("Cost so far", unit, curve.cost_without, curve.cost), chart("Tokens sent", "", curve.sizes_without, curve.sizes)];
}

/** A text with a button that copies it; where the browser does not let it, the text is opened and selected. */
function textToCopy(name) {
  const text = h("pre", { tabindex: 0, "aria-label": name });
  const shown = fold(name, text);
  const said = h("span", { role: "status" });
  const copy = button([`Copy ${name}`, said], async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      fill(said, " ✓");
    } catch {
      shown.open = true;
      getSelection().selectAllChildren(text);
      fill(said, ": select it below");
    }
  });
  const set = (value) => [fill(text, value), fill(said)];
  return { copy, shown, set };
}
