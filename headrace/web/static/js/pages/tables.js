// Tables: the latest row of each key; all of them, and one of them (rows.js).

import { get } from "../api.js";
import { breakable, el, link, path, replace } from "../dom.js";
import * as format from "../format.js";
import { empty, poll, waiting } from "../poll.js";
import { go, note } from "../router.js";
import { table } from "../table.js";

const COLUMNS = [
  { name: "name", label: "Table", value: (t) => t.name, cell: (t) => link(path("tables", t.name), breakable(t.name)), once: true, class: "name" },
  { name: "rows", label: "Rows", value: (t) => t.rows, cell: (t) => (t.rows === null ? "not stored yet" : format.count(t.rows)), number: true },
  { name: "lag", label: "Lag", value: (t) => t.lag, cell: (t) => format.count(t.lag), number: true },
  { name: "partitions", label: "Partitions", value: (t) => t.partitions, cell: (t) => format.count(t.partitions), number: true, wide: true },
];

/** Show all tables, or one. */
export async function show(element, place) {
  if (place.name) return (await import("./rows.js")).show(element, place);
  const { query, signal } = place;
  const search = el("input", { type: "search", id: "search", placeholder: "Name", value: query.q ?? "", data: { search: "" }, autocomplete: "off" });
  const list = table({ columns: COLUMNS, key: (t) => t.name, label: "Tables", sort: "name", none: "No table has such a name.", pick: (t) => go(path("tables", t.name)) });
  const holder = el("div", { class: "panel flush" });
  let tables = [];
  element.append(el("h1", {}, "Tables"), el("div", { class: "tools", role: "search" }, el("label", { for: "search" }, "Search"), search), waiting(holder));
  const draw = () => {
    if (!tables.length) return replace(holder, empty("No tables yet", "A table is a compacted topic, such as Table.to(…) writes:", "headrace topic create customers --compact"));
    if (holder.firstChild !== list.element) replace(holder, list.element);
    list.set(tables.filter((t) => t.name.toLowerCase().includes(search.value.trim().toLowerCase())));
  };
  search.addEventListener("input", () => (note({ q: search.value.trim() }), draw()));
  await poll(3, async () => {
    tables = await get("tables", {}, signal);
    draw();
  }, signal);
}
