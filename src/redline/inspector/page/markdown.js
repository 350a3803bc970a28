// Markdown as elements: what agents write (headings, lists, tables, code, emphasis), never HTML, never images; links do nothing until asked.
import { h } from "./dom.js";
import { line, said } from "./said.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6}) +(.*)$/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?: +(.*))?$/;
const QUOTE = /^ {0,3}> ?/;
const DIVIDER = /^ *\|? *:?-+:? *(?:\| *:?-+:? *)*\|? *$/;
const DEEPEST = 5;
const MOST_COLUMNS = 40;

/** The blocks of a text. */
export function markdown(text, depth = 0) {
  const lines = text.replace(/\r\n/g, "\n").replace(/\t/g, "    ").split("\n");
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    if (!lines[at].trim()) at += 1;
    else {
      const [block, next] = blockAt(lines, at, depth);
      blocks.push(block);
      at = next;
    }
  }
  return blocks;
}

/** A block of code with its copy button. */
export function codeBlock(code, language = "") {
  const copy = h("button", { class: "quiet copy", type: "button", onclick: () => copied(copy, code) }, "Copy");
  return h("div", { class: "code" }, h("pre", { tabindex: 0, "aria-label": "Code" }, h("code", {}, said(code))), h("span", { class: "corner" }, line(language, 20), copy));
}

async function copied(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

function blockAt(lines, at, depth) {
  const first = lines[at];
  const fence = FENCE.exec(first);
  if (fence) return fenced(lines, at, fence);
  const heading = HEADING.exec(first);
  if (heading) return [h(`h${Math.min(6, heading[1].length + 1)}`, {}, inline(heading[2])), at + 1];
  if (RULE.test(first)) return [h("hr"), at + 1];
  if (depth < DEEPEST && QUOTE.test(first)) {
    const end = until(lines, at, (text) => !QUOTE.test(text));
    const inner = lines.slice(at, end).map((text) => text.replace(QUOTE, ""));
    return [h("blockquote", {}, markdown(inner.join("\n"), depth + 1)), end];
  }
  if (depth < DEEPEST && ITEM.test(first)) return list(lines, at, depth);
  if (isTable(lines, at)) return table(lines, at);
  const end = until(lines, at + 1, (text) => !text.trim() || startsBlock(text));
  return [h("p", {}, inline(lines.slice(at, end).join("\n"))), end];
}

function until(lines, from, isEnd) {
  let at = from;
  while (at < lines.length && !isEnd(lines[at])) at += 1;
  return at;
}

function startsBlock(text) {
  return FENCE.test(text) || HEADING.test(text) || ITEM.test(text) || QUOTE.test(text) || RULE.test(text);
}

function fenced(lines, at, [, ticks, language]) {
  const end = until(lines, at + 1, (text) => text.trim().startsWith(ticks) && !text.trim().slice(ticks.length).replaceAll(ticks[0], ""));
  return [codeBlock(lines.slice(at + 1, end).join("\n"), language.trim()), end + 1];
}

function list(lines, at, depth) {
  const [, indent, bullet] = ITEM.exec(lines[at]);
  const isOrdered = /\d/.test(bullet);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const item = ITEM.exec(lines[next]);
    if (!item || item[1].length !== indent.length || /\d/.test(item[2]) !== isOrdered) break;
    const inside = indent.length + 2;
    const end = until(lines, next + 1, (text) => (text.trim() ? text.search(/\S/) < inside : false));
    const body = [item[3] ?? "", ...lines.slice(next + 1, end).map((text) => text.slice(inside))];
    items.push(h("li", {}, listItem(body.join("\n").trimEnd(), depth)));
    next = end;
  }
  return [isOrdered ? h("ol", { start: parseInt(bullet, 10) }, items) : h("ul", {}, items), next];
}

function listItem(text, depth) {
  const blocks = markdown(text.replace(/^\[([ xX])\] /, (_, state) => (state === " " ? "☐ " : "☑ ")), depth + 1);
  const [only, ...others] = blocks;
  return only?.tagName === "P" ? [...only.childNodes, ...others] : blocks;
}

function isTable(lines, at) {
  if (!lines[at].includes("|") || !DIVIDER.test(lines[at + 1] ?? "") || !lines[at + 1].includes("|")) return false;
  return lines[at].split("|").length < MOST_COLUMNS;
}

function table(lines, at) {
  const sides = cells(lines[at + 1]).map((text) => (text.endsWith(":") ? (text.startsWith(":") ? "center" : "right") : "left"));
  const end = until(lines, at + 2, (text) => !text.includes("|"));
  const row = (text, tag) => h("tr", {}, cells(text).slice(0, sides.length).map((cell, i) => h(tag, { class: sides[i] }, inline(cell))));
  const body = lines.slice(at + 2, end).map((text) => row(text, "td"));
  const label = { class: "scrolls", tabindex: 0, role: "group", "aria-label": "Table" };
  return [h("div", label, h("table", {}, h("thead", {}, row(lines[at], "th")), h("tbody", {}, body))), end];
}

function cells(text) {
  return text.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
}

const SPAN = /(`+)|(\*+|_+|~~)|!?\[|https?:\/\/|\\[\\`*_{}[\]()#+\-.!~|]/g;
const LINK = /!?\[([^[\]\n]{0,300})\]\(([^()\s]{1,2000})(?: +"[^"\n]{0,200}")?\)/y;
const ADDRESS = /https?:\/\/[^\s<>"'`)\]*]{1,2000}/y;
const FARTHEST = 1000;
const TAGS = { "*": "em", _: "em", "**": "strong", __: "strong", "~~": "s", "***": "strong", ___: "strong" };

/** The words of a line: code, emphasis, links. */
function inline(text, depth = 0) {
  const nodes = [];
  const spans = new RegExp(SPAN);
  let from = 0;
  for (let found = spans.exec(text); found; found = spans.exec(text)) {
    const [node, end] = spanAt(text, found, depth);
    if (!node) continue;
    nodes.push(...said(text.slice(from, found.index)), node);
    from = end;
    spans.lastIndex = end;
  }
  return [...nodes, ...said(text.slice(from))];
}

function spanAt(text, found, depth) {
  const [token, ticks, stars] = found;
  const start = found.index;
  if (ticks) return codeSpan(text, start, ticks);
  if (stars) return depth < DEEPEST ? emphasis(text, start, stars, depth) : [];
  if (token.startsWith("\\")) return [document.createTextNode(token[1]), start + 2];
  const pattern = token.endsWith("[") ? LINK : ADDRESS;
  pattern.lastIndex = start;
  const link = pattern.exec(text);
  if (!link) return [];
  if (pattern === LINK) return [linkButton(token === "![" ? `image: ${link[1]}` : link[1], link[2]), start + link[0].length];
  const address = link[0].replace(/[.,;:!?]+$/, "");
  return [linkButton(address, address), start + address.length];
}

function codeSpan(text, start, ticks) {
  for (let end = text.indexOf(ticks, start + ticks.length); end !== -1; end = text.indexOf(ticks, end)) {
    let after = end;
    while (text[after] === "`") after += 1;
    if (after - end === ticks.length) return [h("code", {}, said(text.slice(start + ticks.length, end))), after];
    end = after;
  }
  return [];
}

function emphasis(text, start, token, depth) {
  const tag = TAGS[token];
  const inside = start + token.length;
  const isWord = (at) => token[0] === "_" && /\w/.test(text[at] ?? "");
  if (!tag || /\s/.test(text[inside] ?? " ") || isWord(start - 1)) return [];
  const end = text.slice(inside, inside + FARTHEST).search(closing(token));
  if (end < 1 || isWord(inside + end + token.length)) return [];
  return [h(tag, {}, inline(text.slice(inside, inside + end), depth + 1)), inside + end + token.length];
}

function closing(token) {
  const sign = token[0] === "_" ? "_" : `\\${token[0]}`;
  return new RegExp(`(?<=[^\\s${sign}])${sign}{${token.length}}(?!${sign})`);
}

function linkButton(label, address) {
  const button = h("button", { class: "link", type: "button", "aria-expanded": "false", title: "Show where this leads" }, line(label || address, 300));
  const target = h("span", { class: "target", hidden: true });
  button.addEventListener("click", () => {
    target.hidden = !target.hidden;
    button.setAttribute("aria-expanded", String(!target.hidden));
    if (!target.hidden) target.replaceChildren(...destination(address));
  });
  return h("span", {}, button, target);
}

function destination(address) {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isWeb = url && ["https:", "http:"].includes(url.protocol);
  if (!isWeb) return [h("code", {}, said(address)), " is not a web address."];
  return [h("code", {}, said(url.href)), " ", h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, "Open in a new tab")];
}
