// Queries: all stages of all programs with their rates, and one of them (query.js).

import { breakable, el, link, path, replace } from "../dom.js";
import { sparkline } from "../chart.js";
import * as format from "../format.js";
import { live, recall, stages, trace, watch } from "../live.js";
import { empty, waiting } from "../poll.js";
import { go, note } from "../router.js";
import { badge, pressure, watermark } from "../status.js";
import { table } from "../table.js";

/** Show all queries, or one. */
export async function show(element, place) {
  if (place.name) return (await import("./query.js")).show(element, place);
  const { query, signal } = place;
  const search = el("input", { type: "search", id: "search", placeholder: "Name", value: query.q ?? "", data: { search: "" }, autocomplete: "off" });
  const list = queryTable(signal);
  const holder = el("div", { class: "panel flush" });
  element.append(el("h1", {}, "Queries"), el("div", { class: "tools", role: "search" }, el("label", { for: "search" }, "Search"), search), waiting(holder));
  const draw = () => {
    const all = stages();
    if (!all.length) return replace(holder, nothing());
    if (holder.firstChild !== list.element) replace(holder, list.element);
    const wanted = search.value.trim().toLowerCase();
    list.set(all.filter((stage) => stage.name.toLowerCase().includes(wanted)));
  };
  search.addEventListener("input", () => (note({ q: search.value.trim() }), live.overview && draw()));
  watch(draw, signal);
}

/** Return what to say when no program runs. */
export function nothing() {
  return empty("No program runs", "Start one, or the whole retail mesh:", "headrace run PROGRAM.py", "headrace demo");
}

/** Make the table of queries, with lines that show the last minute. */
export function queryTable(signal, none = "No query has such a name.") {
  const lines = new Map();
  const line = (stage) => {
    if (!lines.has(stage.name)) {
      lines.set(stage.name, sparkline(`Rate of ${stage.name} over the last minute`));
      recall(stage.name, signal);
    }
    const spark = lines.get(stage.name);
    spark.set(trace(stage.name).rate);
    return spark.element;
  };
  const columns = [
    { name: "state", label: "State", value: (s) => rank(s), cell: (s) => state(s), class: "state" },
    { name: "name", label: "Query", value: (s) => s.name, cell: (s) => link(path("queries", s.name), breakable(s.name)), once: true, class: "name" },
    { name: "rate", label: "Rate", value: (s) => s.rate, cell: (s) => format.rate(s.rate), number: true },
    { name: "line", label: "Last minute", cell: line, wide: true, class: "spark-cell" },
    { name: "lag", label: "Lag", value: (s) => s.lag, cell: (s) => format.count(s.lag), number: true },
    { name: "batch", label: "Batch time", value: (s) => s.batch_seconds, cell: (s) => format.span(s.batch_seconds), number: true, wide: true },
    { name: "watermark", label: "Watermark", value: (s) => -(format.since(s.watermark) ?? 0), cell: watermark, number: true, wide: true },
    { name: "kept", label: "Rows kept", value: (s) => s.state_rows, cell: (s) => format.short(s.state_rows), number: true, wide: true },
    { name: "late", label: "Late", value: (s) => s.late, cell: (s) => format.count(s.late), number: true, wide: true },
  ];
  return table({ columns, key: (s) => s.name, label: "Queries", sort: "name", none, pick: (s) => go(path("queries", s.name)), level: (s) => `row-${pressure(s).level}` });
}

function rank(stage) {
  return ["bad", "warning", "good", "off"].indexOf(pressure(stage).level);
}

function state(stage) {
  const { level, word } = pressure(stage);
  const shown = badge(level, word);
  if (stage.restarts) shown.title = `started again ${format.many(stage.restarts, "time")}`;
  return shown;
}
