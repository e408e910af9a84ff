// A JSON value as readable text with colours, cut where it is too long to read anyway.

import { get, parseJson } from "./api.js";
import { button, el } from "./dom.js";
import { toast } from "./dialog.js";

const MOST = 4000; // pieces of text in one value
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Return a value, indented. */
export function pretty(value) {
  return el("pre", { class: "json", tabindex: "0" }, ...pieces(JSON.stringify(value, null, 2) ?? "null"));
}

/** Return plain text as it is. */
export function plain(text) {
  return el("pre", { class: "json", tabindex: "0" }, text);
}

function pieces(text) {
  const parts = [];
  let last = 0;
  for (const found of text.matchAll(TOKEN)) {
    if (parts.length > MOST) break;
    if (found.index > last) parts.push(text.slice(last, found.index));
    const kind = found[2] !== undefined ? "json-name" : found[1] !== undefined ? "json-text" : found[3] ? "json-word" : "json-number";
    parts.push(el("span", { class: kind }, found[1] ?? found[0]), found[2] ?? "");
    last = found.index + found[0].length;
  }
  parts.push(text.slice(last));
  return parts;
}

/** Return a button that copies text. */
export function copier(label, text) {
  return button(
    label,
    async () => {
      try {
        await navigator.clipboard.writeText(text());
        toast("Copied.");
      } catch {
        toast("The browser does not let this page copy.", "bad");
      }
    },
    { class: "quiet small" },
  );
}

/** Return an event's value as text: as it was, or as JSON. */
export function valueText(event) {
  if (event.tombstone) return "";
  return event.text ?? JSON.stringify(event.value, null, 2);
}

/** Return an event's value as an element. */
export function valueElement(event) {
  if (event.tombstone) return el("p", { class: "quiet-text" }, "A deletion: the key has no value any more.");
  const text = event.text ?? null;
  if (text === null) return pretty(event.value);
  const value = event.cut ? undefined : objectIn(text);
  return value === undefined ? plain(text) : pretty(value);
}

/** Return the object or list that text is; what the server sends as text may still be JSON, with numbers too long for it. */
function objectIn(text) {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Return an event whose value is not cut, however long it is. */
export async function whole(topic, event, signal) {
  const place = { partition: event.partition, offset: event.offset, limit: 1, whole: 1 };
  const { events } = await get(`topics/${encodeURIComponent(topic)}/events`, place, signal);
  const found = events.find((one) => one.offset === event.offset);
  if (!found) throw new Error("The event is not in the topic any more.");
  return { ...event, ...found, cut: false };
}
