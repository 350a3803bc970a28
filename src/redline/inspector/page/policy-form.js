// The form for a policy of one's own: preset, rules with their settings, schedule, price.
import { brief, fill, fold, h, span } from "./drawn-view.js";

/** `keep_recent` as "keep recent" */
export const spaced = (name) => name.replaceAll("_", " ");

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
  const toPreset = (one) => one && choose("preset", { ...one.settings, preset: one.name, price: custom.price });
  const toSchedule = (one) => choose("schedule", { preset: null, schedule: one && { name: one.name, settings: {} } });
  const toPrice = ({ target }) => {
    custom.price = target.value.trim() || null;
    changed();
  };
  const wide = matchMedia("(min-width: 861px)");
  const more = h("details.rest", { open: wide.matches });
  wide.onchange = () => (more.open = wide.matches);
  const draw = () => {
    const schedule = schedules.find(({ name }) => name === custom.schedule?.name);
    const price = h("input", { id: "price", list: "prices", value: custom.price ?? "", placeholder: "the model's own", onchange: toPrice });
    fill(
      form,
      chooser("preset", "Preset", presets, custom.preset, "of my own", toPreset),
      fill(
        more,
        h("summary", "Rules, schedule and price"),
        h("fieldset", h("legend", "Rules"), rules.map((rule) => ruleField(rule, custom, own))),
        chooser("schedule", "When strikes are made", schedules, schedule?.name, "as suits the model", toSchedule),
        schedule && settingFields(schedule, custom.schedule, own),
        field(price, "Price", "A model, or read / written / kept for, such as 0.1/1.25/5m."),
        h("datalist", { id: "prices" }, prices.map(({ name, says }) => h("option", { value: name }, says))),
      ),
    );
  };
  draw();
  return form;
}

function field(input, name, says) {
  const id = `${input.id}-says`;
  input.setAttribute("aria-describedby", id);
  return h("div.field", h("label", { for: input.id }, name), input, h("p.says", { id }, says));
}

function chooser(id, title, choices, chosen, otherwise, choose) {
  const named = (wanted) => choices.find(({ name }) => name === wanted) ?? null;
  const options = choices.map(({ name }) => h("option", { value: name, selected: name === chosen }, spaced(name)));
  const onchange = ({ target }) => choose(named(target.value));
  return field(h("select", { id, onchange }, h("option", { value: "" }, otherwise), options), title, named(chosen)?.says);
}

function ruleField({ name, says, settings }, custom, changed) {
  const found = custom.rules.find((rule) => rule.name === name);
  const rule = found ?? { name };
  const inner = settingFields({ name, settings }, rule, changed);
  const onchange = () => {
    custom.rules = box.checked ? [...custom.rules, rule] : custom.rules.filter((one) => one !== rule);
    inner.hidden = !box.checked;
    changed();
  };
  const box = h("input", { id: `rule-${name}`, type: "checkbox", role: "switch", checked: Boolean(found), onchange });
  inner.hidden = !found;
  return h("div.rule", field(box, spaced(name), says), inner);
}

/** The settings of a rule or a schedule, folded. Only those that differ from the default are kept. */
function settingFields({ name, settings }, chosen, changed) {
  const own = (chosen.settings ??= {});
  const fields = settings.map((setting) => settingField(`${name}-${setting.name}`, setting, own, changed));
  return fields.length ? fold(["Settings", h("span.hidden", ` of ${spaced(name)}`)], fields) : h("span");
}

function settingField(id, { name, type, default: usual, says }, own, changed) {
  const value = own[name] ?? usual;
  const hint = h("small");
  const format = { ms: span, tokens: brief }[name.split("_").at(-1)];
  const tell = (now) => fill(hint, format && now ? ` ${format(now)}` : "");
  const read = (text) => (type === "number" ? Number(text) : type === "list" ? text.split(/[\s,]+/) : text);
  const oninput = () => {
    if (!input.validity.valid) return;
    const text = input.value.trim();
    const now = type === "bool" ? input.checked : text ? read(text) : usual;
    own[name] = now;
    if (String(now) === String(usual)) delete own[name];
    tell(now);
    changed();
  };
  const kinds = { bool: { type: "checkbox", checked: value === true }, number: { type: "number", step: "any", min: 0 } };
  const input = h("input", { id, value: value ?? "", placeholder: usual ?? "not set", oninput, ...kinds[type] });
  tell(value);
  return field(input, [spaced(name), hint], says);
}
