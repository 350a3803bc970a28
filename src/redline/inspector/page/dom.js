// Elements made from plain values. Text always becomes text nodes: nothing that is shown is ever parsed as HTML.

/** h("p.note", { hidden: true }, "Words"): classes after dots; attributes and children that are null or false are left out. */
export function h(tag, ...rest) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  return filled(element, rest);
}

export function svg(tag, ...rest) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), rest);
}

export function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(isThere));
  return element;
}

export function isThere(value) {
  return (value ?? false) !== false;
}

function filled(element, rest) {
  const attributes = rest[0]?.constructor === Object ? rest.shift() : {};
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (isThere(value)) element.setAttribute(name, value === true ? "" : value);
  }
  return fill(element, rest);
}
