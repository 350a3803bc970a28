// The fields of searches and filters. What is chosen in them is in the address.
import { fill, h } from "./dom.js";
import { line } from "./said.js";

export const search = (label, placeholder) => h("input", { type: "search", name: "text", "aria-label": label, placeholder, maxlength: 300 });
export const select = (name, label) => h("select", { name, "aria-label": label });
export const checkbox = (name, label) => h("label.check", h("input", { type: "checkbox", name }), label);
export const found = () => h("output.found", { "aria-live": "polite" });

export function offer(field, all, names) {
  const options = [...new Set(names.filter(Boolean))].sort().map((value) => h("option", { value }, line(value, 60)));
  fill(field, h("option", { value: "" }, all), options);
  field.hidden = !options.length;
}

export function chosen({ elements }) {
  const value = (field) => (field.type === "checkbox" ? (field.checked ? "1" : "") : field.value);
  return Object.fromEntries([...elements].filter(({ name }) => name).map((field) => [field.name, value(field)]));
}

export function choose({ elements }, params) {
  for (const field of elements) {
    const value = params[field.name] ?? "";
    if (field.type === "checkbox") field.checked = Boolean(value);
    else if (field.name && field !== document.activeElement) field.value = value;
  }
}

/** Does `actions(event)[key]()` for keys that are not meant for a field or the browser; the answer ends it. */
export function onKeys(actions) {
  const press = (event) => {
    const act = actions(event)[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    event.preventDefault();
    act();
  };
  document.addEventListener("keydown", press);
  return () => document.removeEventListener("keydown", press);
}
