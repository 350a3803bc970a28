// Small pieces of forms that more than one view has.
import { h } from "./dom.js";

/** A checkbox with its label: `{input, label}`. */
export function checkbox(name, onchange) {
  const input = h("input", { type: "checkbox", onchange });
  return { input, label: h("label", { class: "check" }, input, name) };
}

/** What an address says of a checkbox: "1", or nothing. */
export function flag({ input }) {
  return input.checked ? "1" : null;
}

/** Whether a key is meant for a field or for a browser's own command, not for the page. */
export function isTyping(event) {
  return event.ctrlKey || event.metaKey || event.altKey || Boolean(event.target.closest("input, select, textarea, dialog"));
}
