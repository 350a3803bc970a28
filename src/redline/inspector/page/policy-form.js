// The form for a policy: preset, rules with their settings, schedule, price.

import { fill, h } from "./dom.js";
import { brief, span } from "./format.js";

/**
 * The fields for a policy of one's own, as /what-if takes it. `offers` is the answer of /api/policies;
 * `change(custom)` is called with a new value whenever something was changed.
 */
export function policyForm(offers, custom, change) {
  const form = h("form", { class: "policy", "aria-label": "Policy", onsubmit: (event) => event.preventDefault() });
  const set = (changed, { redraw = false } = {}) => {
    custom = changed;
    if (redraw) draw();
    change(custom);
  };
  const edit = (changed, options) => set({ ...custom, preset: null, ...changed }, options);
  const draw = () => fill(form, presetField(offers, custom, set), ruleFields(offers, custom, edit), scheduleFields(offers, custom, edit), priceField(offers, custom, edit));
  draw();
  return form;
}

/** A value in words: `keep_recent` is "keep recent". */
export function spaced(name) {
  return name.replaceAll("_", " ");
}

function presetField({ presets }, custom, set) {
  const chosen = presets.find(({ name }) => name === custom.preset);
  const select = h(
    "select",
    {
      id: "preset",
      onchange: () => {
        const preset = presets.find(({ name }) => name === select.value);
        if (preset) set({ ...preset.settings, price: custom.price }, { redraw: true });
        document.getElementById("preset")?.focus();
      },
    },
    presets.map(({ name }) => h("option", { value: name, selected: name === custom.preset }, name)),
    h("option", { value: "", selected: !chosen }, "of my own"),
  );
  return h("div", { class: "field" }, h("label", { for: "preset" }, "Preset"), select, h("p", { class: "says" }, chosen?.says ?? "Choose a preset, or change what is below."));
}

function ruleFields({ rules }, custom, edit) {
  const chosen = new Map(custom.rules.map((rule) => [rule.name, rule]));
  const changed = () => edit({ rules: [...chosen.values()] });
  return h("fieldset", {}, h("legend", {}, "Rules"), rules.map((rule) => ruleField(rule, chosen, changed)));
}

function ruleField(rule, chosen, changed) {
  let settings = chosen.get(rule.name)?.settings ?? {};
  const fields = settingFields(rule, settings, (next) => {
    settings = next;
    chosen.set(rule.name, { name: rule.name, settings });
    changed();
  });
  const box = h("input", {
    type: "checkbox",
    role: "switch",
    id: `rule-${rule.name}`,
    checked: chosen.has(rule.name),
    "aria-describedby": `says-${rule.name}`,
    onchange: () => {
      if (box.checked) chosen.set(rule.name, { name: rule.name, settings });
      else chosen.delete(rule.name);
      if (fields) fields.hidden = !box.checked;
      changed();
    },
  });
  if (fields) fields.hidden = !box.checked;
  return h("div", { class: "rule" }, box, h("label", { for: box.id }, spaced(rule.name)), h("p", { class: "says", id: `says-${rule.name}` }, rule.says), fields);
}

function scheduleFields({ schedules }, custom, edit) {
  const chosen = schedules.find(({ name }) => name === custom.schedule?.name);
  const select = h(
    "select",
    {
      id: "schedule",
      onchange: () => {
        edit({ schedule: select.value ? { name: select.value, settings: {} } : null }, { redraw: true });
        document.getElementById("schedule")?.focus();
      },
    },
    !chosen && h("option", { value: "", selected: true }, "by the model"),
    schedules.map(({ name }) => h("option", { value: name, selected: name === chosen?.name }, spaced(name))),
  );
  const fields = chosen && settingFields(chosen, custom.schedule.settings ?? {}, (settings) => edit({ schedule: { name: chosen.name, settings } }));
  return h("fieldset", {}, h("legend", {}, "Schedule"), h("div", { class: "field" }, h("label", { for: "schedule" }, "When marks are applied"), select, chosen && h("p", { class: "says" }, chosen.says)), fields);
}

function priceField({ prices }, custom, edit) {
  const input = h("input", { id: "price", list: "prices", value: custom.price ?? "", placeholder: "the model's own", autocomplete: "off", spellcheck: "false", onchange: () => edit({ price: input.value.trim() || null, preset: custom.preset }) });
  return h(
    "div",
    { class: "field" },
    h("label", { for: "price" }, "Price"),
    input,
    h("datalist", { id: "prices" }, prices.map(({ name, says }) => h("option", { value: name }, says))),
    h("p", { class: "says" }, "A model, or three numbers: read / written / how long it is kept, such as 0.1/1.25/5m."),
  );
}

/** The settings of a rule or a schedule, folded; only what differs from the default is kept. */
function settingFields({ name, settings: known }, settings, change) {
  if (!known.length) return null;
  const set = (setting, value) => {
    const { [setting.name]: _, ...others } = settings;
    const isDefault = value === null || JSON.stringify(value) === JSON.stringify(setting.default);
    settings = isDefault ? others : { ...others, [setting.name]: value };
    change(settings);
  };
  return h("details", { class: "settings", open: Object.keys(settings).length > 0 }, h("summary", { "aria-label": `Settings of ${spaced(name)}` }, "Settings"), known.map((setting) => settingField(`${name}-${setting.name}`, setting, settings[setting.name] ?? setting.default, (value) => set(setting, value))));
}

function settingField(id, setting, value, set) {
  const unit = h("output", { class: "unit", for: id }, inUnits(setting, value));
  const said = { id, "aria-describedby": `${id}-says` };
  const input =
    setting.type === "bool"
      ? h("input", { ...said, type: "checkbox", checked: value === true, onchange: () => set(input.checked) })
      : h("input", {
          ...said,
          type: setting.type === "number" ? "number" : "text",
          step: "any",
          min: 0,
          value: Array.isArray(value) ? value.join(", ") : (value ?? ""),
          placeholder: setting.default === null ? "not set" : String(setting.default),
          autocomplete: "off",
          oninput: () => {
            const typed = parsed(setting.type, input.value);
            fill(unit, inUnits(setting, typed ?? setting.default));
            if (input.validity.valid) set(typed);
          },
        });
  return h("div", { class: "setting" }, h("label", { for: id }, spaced(setting.name)), input, unit, h("p", { class: "says", id: `${id}-says` }, setting.says));
}

function parsed(type, text) {
  if (!text.trim()) return null;
  if (type === "number") return Number(text);
  return type === "list" ? text.split(",").map((one) => one.trim()).filter(Boolean) : text;
}

/** How long milliseconds are, how much tokens are: beside a field that takes the plain number. */
function inUnits({ name, type }, value) {
  if (type !== "number" || value === null || value === undefined) return "";
  if (name.endsWith("_ms")) return span(value);
  return name.endsWith("_tokens") && value >= 10_000 ? brief(value) : "";
}
