// One event, whole: where it lies, its headers, its value.

import { toast } from "./dialog.js";
import { button, el, link, path, replace } from "./dom.js";
import * as format from "./format.js";
import { copier, valueElement, valueText, whole } from "./json.js";

/** Show an event in an element; `close` takes it away again. */
export function eventDetail(element, topic, event, close) {
  const facts = [
    ["Partition", event.partition],
    ["Offset", event.offset],
    ["In the log", `${format.moment(event.time)} (${format.ago(event.time)})`],
    ["Event time", event.event_time ? format.moment(event.event_time) : null],
    ["Size", format.bytes(event.size)],
  ];
  const told = facts.filter(([, value]) => value !== null && value !== undefined);
  element.hidden = false;
  replace(
    element,
    el("header", {}, el("h2", {}, "Event"), copier("Copy value", () => valueText(event)), button("Close", close, { class: "quiet small" })),
    el("dl", { class: "facts" }, told.map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))])),
    el("h3", {}, "Key"),
    keyOf(topic, event),
    headersOf(event),
    el("h3", {}, "Value"),
    event.cut && el("p", { class: "quiet-text" }, "Cut: the value is longer than what is shown. ", button("Show it whole", () => all(element, topic, event, close), { class: "small" })),
    valueElement(event),
  );
}

async function all(element, topic, event, close) {
  try {
    eventDetail(element, topic, await whole(topic, event), close);
  } catch (error) {
    toast(error.message, "bad");
  }
}

function keyOf(topic, event) {
  if (event.key === null || event.key === undefined) return el("p", { class: "quiet-text" }, "none");
  const key = typeof event.key === "string" ? event.key : JSON.stringify(event.key);
  const search = `${path("topics", topic)}?key=${encodeURIComponent(key)}`;
  return el("p", { class: "mono" }, key, " ", link(search, "Find all of it", { class: "small" }));
}

function headersOf(event) {
  const headers = Object.entries(event.headers ?? {});
  if (!headers.length) return null;
  const rows = headers.map(([name, value]) => [el("dt", { class: "mono" }, name), el("dd", { class: "mono" }, format.line(value, 2000))]);
  return [el("h3", {}, "Headers"), el("dl", { class: "facts" }, rows)];
}
