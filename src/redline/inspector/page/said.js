// Text of a session, made safe to look at: what cannot be seen, or would reorder a line, is shown as a small mark.
import { h } from "./dom.js";
import { counted } from "./format.js";

const COLOURS = /\x1b\[[0-9;:]*m/g;
const UNSEEN = /([\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}])\1*/gu;
const MOST_SHOWN = 200_000;

export function said(text) {
  const clean = String(text ?? "").slice(0, MOST_SHOWN).replace(COLOURS, "").replace(/\r\n/g, "\n");
  const nodes = [];
  let from = 0;
  for (const { 0: run, 1: character, index } of clean.matchAll(UNSEEN)) {
    nodes.push(clean.slice(from, index), mark(character, run.length / character.length));
    from = index + run.length;
  }
  const more = text?.length > MOST_SHOWN ? h("em", ` … ${counted(text.length - MOST_SHOWN, "more character")}`) : "";
  return [...nodes, clean.slice(from), more];
}

export function line(text, most = 200) {
  const flat = String(text ?? "").slice(0, most * 4).replace(/\s+/g, " ").trim();
  return said(flat.length > most ? `${flat.slice(0, most)}…` : flat);
}

/** The first lines of a text; a little more than that is not worth a cut. */
export function head(text, lines) {
  const cut = text.split("\n", lines).join("\n").slice(0, lines * 160);
  return text.length - cut.length < 40 && !text.slice(cut.length).trim().includes("\n") ? text : cut;
}

function mark(character, times) {
  const code = character.codePointAt(0);
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const shown = code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "␡" : name;
  return h("span.unseen", { title: name }, times > 1 ? `${shown}×${times}` : shown);
}
