// Looking for events of a topic: by key, text, place or time.

import { get } from "./api.js";
import { button, el, text } from "./dom.js";
import * as format from "./format.js";
import { Ring } from "./ring.js";
import { note } from "./router.js";

const LIMIT = 200; // events of one answer
const FIELDS = [
  { name: "key", label: "Key", attributes: { type: "search", placeholder: "exactly" } },
  { name: "contains", label: "Text", attributes: { type: "search", placeholder: "in key or value", data: { search: "" } } },
  { name: "partition", label: "Partition", attributes: { type: "number", min: "0", step: "1", placeholder: "all" } },
  { name: "offset", label: "From offset", attributes: { type: "number", min: "0", step: "1" } },
  { name: "time", label: "From time", attributes: { type: "datetime-local", step: "1" } },
];

/** Make the form; `onFound({ring})` when events were found, `onFound(null)` when the live tail is wanted again. */
export function searchForm(topic, query, signal, onFound) {
  const inputs = Object.fromEntries(FIELDS.map((field) => [field.name, el("input", { id: `search-${field.name}`, autocomplete: "off", value: query[field.name] ?? "", ...field.attributes })]));
  const told = el("p", { class: "search-told", role: "status" });
  const more = button("Further ones", () => ask(true), { class: "small", hidden: true });
  const clear = button("Back to the tail", () => reset(), { class: "quiet", hidden: true });
  const labels = FIELDS.map((field) => el("label", { class: `field field-${field.name}` }, el("span", {}, field.label), inputs[field.name]));
  const form = el("form", { class: "search", role: "search" }, el("div", { class: "fields" }, labels, el("div", { class: "field-buttons" }, el("button", { type: "submit" }, "Search"), clear)), el("div", { class: "search-line" }, told, more));
  let events = [];
  let onward = {};

  function wanted() {
    const given = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]));
    if (given.time) given.time = new Date(given.time).toISOString();
    return given;
  }

  async function ask(again) {
    const given = wanted();
    if (!Object.values(given).some(Boolean)) return reset();
    text(told, "Searching…");
    try {
      const answer = await get(`topics/${encodeURIComponent(topic)}/events`, { ...given, ...(again ? onward : {}), limit: LIMIT }, signal);
      take(answer, again, Boolean(given.offset || given.time));
    } catch (error) {
      if (!signal.aborted) text(told, error.message);
    }
  }

  function take(answer, again, forward) {
    const found = answer.events;
    events = !again ? found : forward ? [...events, ...found] : [...found, ...events];
    onward = next(answer, forward);
    const ring = new Ring();
    for (const event of events) ring.push(event);
    more.hidden = !answer.more;
    clear.hidden = false;
    text(told, events.length ? `${format.many(events.length, "event")} found${answer.more ? ", and there may be more" : ""}.` : answer.more ? "None found so far." : "No event fits.");
    onFound({ ring });
  }

  function reset() {
    for (const input of Object.values(inputs)) input.value = "";
    note({});
    text(told, "");
    events = [];
    more.hidden = clear.hidden = true;
    onFound(null);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    note(Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()])));
    ask(false);
  });
  if (FIELDS.some((field) => query[field.name])) queueMicrotask(() => ask(false));
  return form;
}

/** Return what to ask so that the answer goes on where the last one ended. */
function next(answer, forward) {
  const place = forward ? answer.next : answer.before;
  if (!place) return {};
  return forward ? { offset: "", time: "", from: JSON.stringify(place) } : { before: JSON.stringify(place) };
}
