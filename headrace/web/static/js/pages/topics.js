// Topics: all of them with their rates, and one of them (topic.js).

import { get } from "../api.js";
import { breakable, el, link, path, replace } from "../dom.js";
import * as format from "../format.js";
import { empty, poll, waiting } from "../poll.js";
import { go, note } from "../router.js";
import { table } from "../table.js";
import { badge } from "../status.js";

const COLUMNS = [
  { name: "name", label: "Topic", value: (t) => t.name, cell: (t) => link(path("topics", t.name), breakable(t.name)), once: true, class: "name" },
  { name: "kind", label: "Kind", value: kind, cell: (t) => badge("plain", kind(t)), once: true, wide: true },
  { name: "partitions", label: "Partitions", value: (t) => t.partitions, cell: (t) => format.count(t.partitions), number: true, wide: true },
  { name: "rate", label: "Rate", value: (t) => t.rate ?? 0, cell: (t) => format.rate(t.rate ?? null), number: true },
  { name: "events", label: "Events", value: (t) => t.events, cell: (t) => format.count(t.events), number: true },
  { name: "bytes", label: "Size", value: (t) => t.bytes ?? 0, cell: (t) => format.bytes(t.bytes), number: true, wide: true },
];

function kind(topic) {
  if (topic.internal) return "internal";
  if (topic.name.endsWith(".dlq")) return "dead letters";
  return topic.compacted ? "table" : "stream";
}

/** Show all topics, or one. */
export async function show(element, place) {
  if (place.name) return (await import("./topic.js")).show(element, place);
  const { query, signal } = place;
  let topics = [];
  const search = el("input", { type: "search", id: "search", placeholder: "Name", value: query.q ?? "", data: { search: "" }, autocomplete: "off" });
  const inner = el("input", { type: "checkbox", id: "internal", ...(query.internal ? { checked: true } : {}) });
  const list = table({ columns: COLUMNS, key: (t) => t.name, label: "Topics", sort: "name", none: "No topic has such a name.", pick: (t) => go(path("topics", t.name)) });
  const holder = el("div", { class: "panel flush" });
  const bar = el(
    "div",
    { class: "tools", role: "search" },
    el("label", { for: "search" }, "Search"),
    search,
    el("label", { class: "check" }, inner, "Internal ones too"),
  );
  element.append(el("h1", {}, "Topics"), bar, holder);
  waiting(holder);

  function draw() {
    const wanted = search.value.trim().toLowerCase();
    if (!topics.length) return replace(holder, nothing());
    if (holder.firstChild !== list.element) replace(holder, list.element);
    list.set(topics.filter((t) => t.name.toLowerCase().includes(wanted)));
  }

  async function load() {
    topics = await get("topics", { internal: inner.checked ? 1 : 0 }, signal);
    draw();
  }

  const changed = () => note({ q: search.value.trim(), internal: inner.checked ? "1" : "" });
  search.addEventListener("input", () => (changed(), draw()));
  inner.addEventListener("change", () => (changed(), again()));
  const again = await poll(2, load, signal);
}

function nothing() {
  return empty("No topics yet", "Create one and send something to it:", "headrace topic create orders\necho '{\"order\": 1}' | headrace topic produce orders");
}
