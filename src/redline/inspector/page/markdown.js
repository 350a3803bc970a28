// Markdown as elements: what agents write (headings, lists, tables, code, emphasis), never HTML, never images; links do nothing until asked.
import { button, h } from "./dom.js";
import { line, said } from "./said.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6}) +(.*)$/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const ITEM = /^( *)(?:[-*+]|(\d{1,9})[.)])(?: +(.*))?$/;
const QUOTE = /^ {0,3}> ?/;
const TABLE = /^ *\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$/; // the line below the heads
const DEEPEST = 5;
const MOST_COLUMNS = 40;

export function markdown(text, depth = 0) {
  const lines = text.replace(/\r\n/g, "\n").replace(/\t/g, "    ").split("\n");
  const blocks = [];
  let at = 0;
  const take = (isIn = () => false) => {
    const from = at++;
    while (at < lines.length && isIn(lines[at])) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const first = lines[at];
    const [fence, heading, item] = [FENCE, HEADING, ITEM].map((pattern) => pattern.exec(first));
    if (fence) {
      const end = new RegExp(`^ *${fence[1]}${fence[1][0]}* *$`);
      blocks.push(codeBlock(take((one) => !end.test(one)).slice(1).join("\n"), fence[2].trim()));
      at += 1;
    } else if (heading) {
      blocks.push(h(`h${Math.min(6, heading[1].length + 1)}`, inline(heading[2])));
      at += 1;
    } else if (RULE.test(first)) {
      blocks.push(h("hr"));
      at += 1;
    } else if (depth < DEEPEST && QUOTE.test(first)) {
      const quoted = take((one) => QUOTE.test(one)).map((one) => one.replace(QUOTE, ""));
      blocks.push(h("blockquote", markdown(quoted.join("\n"), depth + 1)));
    } else if (depth < DEEPEST && item) {
      const items = [];
      const [, indent, number] = item;
      const isNext = (next) => next && next[1] === indent && !next[2] === !number;
      for (let next = item; isNext(next); next = ITEM.exec(lines[at] ?? "")) {
        const rest = take((one) => !one.trim() || one.search(/\S/) > indent.length + 1).slice(1);
        items.push(listItem([next[3] ?? "", ...rest.map((one) => one.slice(indent.length + 2))].join("\n"), depth + 1));
      }
      blocks.push(number ? h("ol", { start: number }, items) : h("ul", items));
    } else if (first.includes("|") && TABLE.test(lines[at + 1])) blocks.push(table(take((one) => one.includes("|"))));
    else if (first.trim()) {
      const isText = (one) => one.trim() && ![FENCE, HEADING, RULE, ITEM, QUOTE].some((pattern) => pattern.test(one));
      blocks.push(h("p", inline(take(isText).join("\n"))));
    } else at += 1;
  }
  return blocks;
}

export function codeBlock(code, language = "") {
  const copy = button("Copy", async () => {
    const copied = navigator.clipboard.writeText(code);
    copy.textContent = await copied.then(() => "Copied", () => "Not allowed");
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  }, { class: "quiet" });
  return h("div.code", h("pre", { tabindex: 0, "aria-label": "Code" }, h("code", said(code))), h("span.corner", line(language, 20), copy));
}

function listItem(text, depth) {
  const [first, ...others] = markdown(text.replace(/^\[( |x)\] /i, (_, state) => (state === " " ? "☐ " : "☑ ")), depth);
  return h("li", first?.tagName === "P" ? [...first.childNodes] : first, others);
}

function table([heads, , ...rows]) {
  const row = (tag) => (text) => h("tr", text.trim().replace(/^\||\|$/g, "").split("|", MOST_COLUMNS).map((cell) => h(tag, inline(cell.trim()))));
  return h("div.scrolls", { tabindex: 0, role: "group", "aria-label": "Table" }, h("table", h("thead", row("th")(heads)), h("tbody", rows.map(row("td")))));
}

const SPAN = new RegExp(
  [
    /(?<ticks>`+)(?!`)(?<code>[^]{0,1000}?[^`])\k<ticks>(?!`)/,
    /(?<![*~])(?<stars>\*{1,3}|~~)(?![*~\s])(?<starred>[^]{0,1000}?[^\s*~])\k<stars>(?![*~])/,
    /(?<!\w)(?<bars>_{1,3})(?![_\s])(?<barred>[^]{0,1000}?[^\s_])\k<bars>(?!\w)/,
    /(?<image>!?)\[(?<label>[^[\]\n]{0,300})\]\((?<target>[^()\s]{1,2000})(?: +"[^"\n]{0,200}")?\)/,
    /(?<address>https?:\/\/[^\s<>"'`)\]*]{1,2000}(?<![.,;:!?]))/,
    /\\(?<escaped>[\\`*_{}[\]()#+\-.!~|])/,
  ].map(({ source }) => source).join("|"),
  "g",
);
const TAGS = { "*": "em", _: "em", "~~": "s" };

function inline(text, depth = 0) {
  const nodes = [];
  let from = 0;
  for (const { 0: all, index, groups } of depth < DEEPEST ? text.matchAll(SPAN) : []) {
    nodes.push(said(text.slice(from, index)), span(groups, depth + 1));
    from = index + all.length;
  }
  return [...nodes, said(text.slice(from))];
}

function span({ code, stars, bars = stars, starred, barred = starred, image, label, target, address = target, escaped }, depth) {
  if (escaped) return escaped;
  if (code) return h("code", said(code));
  if (bars) return h(TAGS[bars] ?? "strong", inline(barred, depth));
  return linkButton((image ? "image: " : "") + (label || address), address);
}

function linkButton(label, address) {
  const target = h("span.target", { hidden: true });
  const shown = button(line(label, 300), () => {
    shown.ariaExpanded = target.hidden;
    target.hidden = !target.hidden;
    if (!target.childNodes.length) target.append(...destination(address));
  }, { class: "link", "aria-expanded": "false", title: "Show where this leads" });
  return h("span", shown, target);
}

function destination(address) {
  const url = URL.canParse(address) && new URL(address);
  if (!/^https?:$/.test(url.protocol)) return [h("code", said(address)), " is not a web address."];
  return [h("code", said(url.href)), " ", h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, "Open in a new tab")];
}
