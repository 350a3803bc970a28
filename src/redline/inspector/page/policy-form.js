// The form for a policy of one's own: preset, rules with their settings, schedule, price.
import { fill, h } from "./dom.js";
import { fold } from "./drawn-view.js";
import { brief, span } from "./format.js";

/** `offers` is the answer of /api/policies; `custom` is kept as the form says, and `changed()` is called after each change. */
export function policyForm({ presets, rules, schedules, prices }, custom, changed) {
  const form = h("form", { "aria-label": "Policy", onsubmit: (event) => event.preventDefault() });
  const own = () => {
    custom.preset = null;
    form.querySelector("#preset").value = "";
    changed();
  };
  const choose = (id, choice) => {
    Object.assign(custom, structuredClone(choice));
    draw();
    form.querySelector(`#${id}`).focus();
    changed();
  };
  const draw = () => {
    const schedule = schedules.find(({ name }) => name === custom.schedule?.name);
    const toPreset = (one) => one && choose("preset", { ...one.settings, preset: one.name, price: custom.price });
    const toSchedule = (one) => choose("schedule", { preset: null, schedule: one && { name: one.name, settings: {} } });
    const onchange = () => {
      custom.price = price.value.trim() || null;
      changed();
    };
    const price = h("input", { id: "price", list: "prices", value: custom.price ?? "", placeholder: "the model's own", onchange });
    fill(
      form,
      chooser("preset", "Preset", presets, custom.preset, "of my own", toPreset),
      h("fieldset", h("legend", "Rules"), rules.map((rule) => ruleField(rule, custom, own))),
      chooser("schedule", "When strikes are made", schedules, schedule?.name, "as suits the model", toSchedule),
      schedule && settingFields(schedule, (custom.schedule.settings ??= {}), own),
      field(price, "Price", "A model, or read / written / kept for, such as 0.1/1.25/5m."),
      h("datalist", { id: "prices" }, prices.map(({ name, says }) => h("option", { value: name }, says))),
    );
  };
  draw();
  return form;
}

/** `keep_recent` as "keep recent" */
export function spaced(name) {
  return name.replaceAll("_", " ");
}

function field(input, name, says) {
  const id = `${input.id}-says`;
  input.setAttribute("aria-describedby", id);
  return h("div.field", h("label", { for: input.id }, name), input, h("p.says", { id }, says));
}

/** One of several; `otherwise` is what it is called when it is none of them. */
function chooser(id, title, choices, chosen, otherwise, choose) {
  const named = (wanted) => choices.find(({ name }) => name === wanted) ?? null;
  const options = choices.map(({ name }) => h("option", { value: name, selected: name === chosen }, spaced(name)));
  const onchange = ({ target }) => choose(named(target.value));
  return field(h("select", { id, onchange }, h("option", { value: "" }, otherwise), options), title, named(chosen)?.says);
}

function ruleField(rule, custom, changed) {
  const found = custom.rules.find(({ name }) => name === rule.name);
  const own = found ?? { name: rule.name };
  const inner = settingFields(rule, (own.settings ??= {}), changed);
  const onchange = () => {
    custom.rules = box.checked ? [...custom.rules, own] : custom.rules.filter((one) => one !== own);
    inner.hidden = !box.checked;
    changed();
  };
  const box = h("input", { id: `rule-${rule.name}`, type: "checkbox", role: "switch", checked: Boolean(found), onchange });
  inner.hidden = !found;
  return h("div.rule", field(box, spaced(rule.name), rule.says), inner);
}

/** The settings of a rule or a schedule, folded. Only those that differ from the default are kept. */
function settingFields({ name, settings }, own, changed) {
  const fields = settings.map((setting) => settingField(`${name}-${setting.name}`, setting, own, changed));
  return fields.length ? fold(["Settings", h("span.hidden", ` of ${spaced(name)}`)], fields) : h("span");
}

function settingField(id, { name, type, default: usual, says }, own, changed) {
  const hint = h("small");
  const set = (value) => {
    const format = name.endsWith("_ms") ? span : name.endsWith("_tokens") && brief;
    fill(hint, type === "number" && value !== null && format && [" ", format(value)]);
    if (value === null || String(value) === String(usual)) delete own[name];
    else own[name] = value;
  };
  const oninput = () => {
    if (!input.validity.valid) return;
    const text = input.value.trim() || null;
    set(type === "bool" ? input.checked : text && (type === "number" ? Number(text) : type === "list" ? text.split(/[\s,]+/) : text));
    changed();
  };
  const value = own[name] ?? usual;
  const kinds = { bool: { type: "checkbox", checked: value === true }, number: { type: "number", step: "any", min: 0 } };
  const input = h("input", { id, value: value ?? "", placeholder: usual ?? "not set", oninput, ...kinds[type] });
  set(value);
  return field(input, [spaced(name), hint], says);
}
