// Tables whose rows stay the same elements while their values change, sorted by any column.

import { el, keep, replace, text } from "./dom.js";

/**
 * Make a table. A column is `{name, label, value(item), cell(item) → text or element, number, wide, once}`: `number` aligns
 * to the right, `wide` is left out on narrow screens, `once` keeps the element of the first time (for links and boxes).
 */
export function table({ columns, key, label, sort = "", none = "Nothing found.", pick = null, level = null }) {
  let order = { name: sort.replace(/^-/, ""), down: sort.startsWith("-") };
  let items = [];
  const rows = new Map();
  const body = el("tbody");
  const heads = columns.map((column) => head(column, () => turn(column)));
  const note = el("p", { class: "quiet-text none", hidden: true }, none);
  const element = el("div", { class: "table-box" }, el("table", { class: "data", "aria-label": label }, el("thead", {}, el("tr", {}, heads)), body), note);

  function turn(column) {
    order = { name: column.name, down: order.name === column.name ? !order.down : Boolean(column.number) };
    draw();
  }

  function draw() {
    columns.forEach((column, number) => {
      const state = column.name === order.name ? (order.down ? "descending" : "ascending") : "none";
      if (column.value) heads[number].setAttribute("aria-sort", state);
    });
    const by = columns.find((column) => column.name === order.name);
    const sorted = by?.value ? [...items].sort((a, b) => compare(by.value(a), by.value(b)) * (order.down ? -1 : 1)) : items;
    const wanted = sorted.map((item) => row(item));
    const gone = new Set(rows.keys());
    for (const item of sorted) gone.delete(key(item));
    for (const name of gone) rows.delete(name);
    keep(body, wanted);
    note.hidden = items.length > 0;
  }

  function row(item) {
    const name = key(item);
    if (!rows.has(name)) rows.set(name, el("tr", {}, columns.map((column) => el("td", { class: classes(column) }))));
    const line = rows.get(name);
    line.item = item;
    if (level) line.className = level(item) ?? "";
    columns.forEach((column, number) => show(line.children[number], column, item));
    return line;
  }

  if (pick) body.addEventListener("click", (event) => picked(event, pick));
  return {
    element,
    set(next) {
      items = next;
      draw();
    },
  };
}

function picked(event, pick) {
  if (event.target.closest("a, button, input, label") || String(getSelection())) return;
  const line = event.target.closest("tr");
  if (line) pick(line.item);
}

function head(column, turn) {
  const label = column.value ? el("button", { type: "button", on: { click: turn } }, column.label) : column.label;
  return el("th", { scope: "col", class: classes(column), "aria-sort": column.value ? "none" : null }, label);
}

function classes(column) {
  return [column.number && "number", column.wide && "wide", column.class].filter(Boolean).join(" ");
}

function show(cell, column, item) {
  if (column.once && cell.firstChild) return;
  const content = column.cell(item);
  if (content instanceof Node) replace(cell, content);
  else text(cell, content);
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a < b ? -1 : 1;
}
