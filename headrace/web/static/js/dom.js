// Elements made by script. Every value becomes text: nothing here, or anywhere else, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: `on` has listeners, `data` the dataset, `class` the classes; what is false, null or undefined is left out. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an element of a picture. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Put children in the place of all that an element has. */
export function replace(element, ...children) {
  element.replaceChildren(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Have an element hold exactly these children: nothing is moved if it does already, and what has the focus keeps it. */
export function keep(element, children) {
  if (children.length === element.children.length && children.every((child, number) => element.children[number] === child)) return;
  const focused = document.activeElement;
  replace(element, children);
  if (focused !== document.activeElement && element.contains(focused)) focused.focus();
}

/** Set an element's text if it is another. */
export function text(element, value) {
  const wanted = value === null || value === undefined ? "" : String(value);
  if (element.textContent !== wanted) element.textContent = wanted;
  return element;
}

/** Set an attribute if it is another. */
export function attribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Make a link to a page of the dashboard. */
export function link(path, label, attributes = {}) {
  return el("a", { href: `#/${path}`, ...attributes }, label);
}

/** Return a name that may break over lines after its dots and dashes. */
export function breakable(name) {
  return name.split(/(?<=[.\-_/])/).flatMap((part, number) => (number ? [el("wbr"), part] : [part]));
}

/** Return the path of a page about something with a name. */
export function path(page, name) {
  return name ? `${page}/${encodeURIComponent(name)}` : page;
}

/** Make a button. */
export function button(label, click, attributes = {}) {
  return el("button", { type: "button", on: { click }, ...attributes }, label);
}

/** Whether somebody types here, so that single keys are theirs. */
export function typing(element) {
  return Boolean(element?.closest?.("input, textarea, select, [contenteditable]"));
}
