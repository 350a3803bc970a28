// The form for a policy of one's own: preset, rules with their settings, schedule, price.

import { fill, h } from "./dom.js";
import { brief, span } from "./format.js";

/** The form; `offers` is the answer of /api/policies, and `change(custom)` is called with each new policy. */
export function policyForm(offers, custom, change) {
  const form = h("form", { "aria-label": "Policy", onsubmit: (event) => event.preventDefault() });
  const set = (changed) => {
    custom = { ...custom, preset: null, ...changed };
    if (!custom.preset) form.querySelector("#preset").value = "";
    change(custom);
  };
  const choose = (changed, id) => {
    set(changed);
    draw();
    form.querySelector(`#${id}`).focus();
  };
  const draw = () => {
    const { presets, rules, schedules, prices } = offers;
    const schedule = schedules.find(({ name }) => name === custom.schedule?.name);
    const toPreset = (preset) => preset && choose({ ...preset.settings, preset: preset.name, price: custom.price }, "preset");
    const toSchedule = (one) => choose({ schedule: one && { name: one.name, settings: {} } }, "schedule");
    const toPrice = () => set({ preset: custom.preset, price: price.value.trim() || null });
    const given = { value: custom.price ?? "", placeholder: "the model's own", onchange: toPrice };
    const price = h("input", { id: "price", list: "prices", ...given });
    fill(
      form,
      chooser("preset", "Preset", presets, custom.preset, "of my own", toPreset),
      h("fieldset", {}, h("legend", {}, "Rules"), ruleFields(rules, custom.rules, set)),
      chooser("schedule", "When strikes are made", schedules, schedule?.name, "as suits the model", toSchedule),
      schedule && settingFields(schedule, custom.schedule.settings ?? {}, (settings) => set({ schedule: { ...custom.schedule, settings } })),
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
  input.setAttribute("aria-describedby", `${input.id}-says`);
  const below = h("p", { class: "says", id: `${input.id}-says` }, says);
  return h("div", { class: "field" }, h("label", { for: input.id }, name), input, below);
}

/** One of several; `otherwise` is what it is called when it is none of them. */
function chooser(id, name, choices, chosen, otherwise, choose) {
  const found = choices.find((choice) => choice.name === chosen);
  const none = h("option", { value: "", selected: !found }, otherwise);
  const options = choices.map((choice) => h("option", { value: choice.name, selected: choice === found }, spaced(choice.name)));
  const onchange = () => choose(choices.find((choice) => choice.name === select.value) ?? null);
  const select = h("select", { id, onchange }, none, options);
  return field(select, name, found?.says);
}

function ruleFields(rules, chosen, set) {
  const settings = new Map(chosen.map((rule) => [rule.name, rule.settings ?? {}]));
  const changed = () => set({ rules: Array.from(settings, ([name, own]) => ({ name, settings: own })) });
  return rules.map((rule) => {
    let own = settings.get(rule.name) ?? {};
    const inner = settingFields(rule, own, (next) => {
      settings.set(rule.name, (own = next));
      changed();
    });
    const flip = () => {
      if (!settings.delete(rule.name)) settings.set(rule.name, own);
      inner.hidden = !box.checked;
      changed();
    };
    const checked = settings.has(rule.name);
    const box = h("input", { id: `rule-${rule.name}`, type: "checkbox", role: "switch", checked, onchange: flip });
    inner.hidden = !box.checked;
    return h("div", { class: "rule" }, field(box, spaced(rule.name), rule.says), inner);
  });
}

/** The settings of a rule or a schedule, folded. Only those that differ from the default are kept. */
function settingFields({ name, settings: known }, own, change) {
  const fields = known.map((setting) =>
    settingField(`${name}-${setting.name}`, setting, own[setting.name] ?? setting.default, (value) => {
      const { [setting.name]: _, ...others } = own;
      const isDefault = value === null || String(value) === String(setting.default);
      change((own = isDefault ? others : { ...others, [setting.name]: value }));
    }),
  );
  const summary = h("summary", {}, "Settings", h("span", { class: "hidden" }, ` of ${spaced(name)}`));
  return known.length ? h("details", { class: "settings" }, summary, fields) : h("span");
}

function settingField(id, setting, value, set) {
  if (setting.type === "bool") {
    const box = h("input", { id, type: "checkbox", checked: value === true, onchange: () => set(box.checked) });
    return field(box, spaced(setting.name), setting.says);
  }
  const name = h("span", {}, spaced(setting.name), " ", h("small", {}, inUnits(setting, value)));
  const type = setting.type === "number" ? { type: "number", step: "any", min: 0 } : { type: "text" };
  const input = h("input", { id, ...type, value: value ?? "", placeholder: setting.default ?? "not set" });
  input.addEventListener("input", () => {
    const typed = read(setting.type, input.value.trim());
    fill(name.lastChild, inUnits(setting, typed));
    if (input.validity.valid) set(typed);
  });
  return field(input, name, setting.says);
}

function read(type, text) {
  if (!text) return null;
  return type === "number" ? Number(text) : type === "list" ? text.split(/[\s,]+/) : text;
}

/** How long milliseconds are and how many tokens, beside a field for the plain number. */
function inUnits({ name, type }, value) {
  if (type !== "number" || value === null) return "";
  return name.endsWith("_ms") ? span(value) : name.endsWith("_tokens") ? brief(value) : "";
}
