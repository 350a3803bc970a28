// Text of a session, made safe to look at: what cannot be seen, or would reorder a line, is shown as a small mark.
import { h } from "./dom.js";

const COLOURS = /\x1b\[[0-9;:]*m/g;
const UNSEEN =
  /([\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}])\1*/gu;
const MOST_SHOWN = 200_000;

/** The nodes that show a text. */
export function said(text) {
  const kept = String(text ?? "").slice(0, MOST_SHOWN);
  const clean = kept.replace(COLOURS, "").replace(/\r\n/g, "\n");
  const nodes = [];
  let from = 0;
  for (const found of clean.matchAll(UNSEEN)) {
    if (found.index > from) nodes.push(clean.slice(from, found.index));
    nodes.push(mark(found[1], found[0].length / found[1].length));
    from = found.index + found[0].length;
  }
  nodes.push(clean.slice(from));
  if (text && text.length > MOST_SHOWN) nodes.push(h("em", {}, ` … ${(text.length - MOST_SHOWN).toLocaleString("en")} more characters`));
  return nodes;
}

/** A text on one line, at most so many characters. */
export function line(text, most = 200) {
  const flat = String(text ?? "").slice(0, most * 4).replace(/\s+/g, " ").trim();
  return said(flat.length > most ? `${flat.slice(0, most)}…` : flat);
}

/** The first lines of a text, and how many lines there are; a line too long to show counts as several. */
export function head(text, lines, characters = lines * 160) {
  let end = 0;
  for (let seen = 0; seen < lines && end !== -1; seen += 1) end = text.indexOf("\n", end) + 1 || -1;
  const cut = Math.min(end === -1 ? text.length : end - 1, characters);
  return text.length - cut < 40 && !text.slice(cut).trim().includes("\n") ? text : text.slice(0, cut);
}

function mark(character, times) {
  const code = character.codePointAt(0);
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const shown = code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "␡" : name;
  return h("span", { class: "unseen", title: name }, times > 1 ? `${shown}×${times}` : shown);
}
