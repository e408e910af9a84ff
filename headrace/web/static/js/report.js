// What a report can use: `show(element, api)` of its module gets this.

import { address, get, post } from "./api.js";
import { chart } from "./chart.js";
import { el, link, replace, svg, text } from "./dom.js";
import * as format from "./format.js";
import { poll } from "./poll.js";
import { followSeen } from "./sse.js";
import { badge, sign } from "./status.js";
import { table } from "./table.js";

/** Return the API of a report; all that it opens ends with `signal`, when the page is left. */
export function reportApi(signal) {
  return {
    signal,
    get: (path, query) => get(path, query, signal),
    post: (path, body) => post(path, body, signal),
    stream: (topics, onEvents, options) => stream(topics, onEvents, options, signal),
    every: (seconds, ask) => poll(seconds, async () => ask(), signal),
    chart: (element, options) => chart(element, { ...options, signal }),
    table,
    badge,
    sign,
    el,
    svg,
    text,
    replace,
    link,
    format,
  };
}

/** Use a style sheet until `signal`; resolve when it is there, or is not. */
export function style(href, signal) {
  const sheet = el("link", { rel: "stylesheet", href });
  signal.addEventListener("abort", () => sheet.remove());
  return new Promise((resolve) => {
    sheet.addEventListener("load", resolve);
    sheet.addEventListener("error", resolve);
    document.head.append(sheet);
  });
}

/**
 * Follow topics: `onEvents(events, past)` with what came, each with its `topic`; nothing is skipped when the connection is
 * lost, or while nobody sees the page. `start` is `latest`, or `tail:N` for the last N as well: `past` tells those.
 */
function stream(topics, onEvents, { start = "latest", onState } = {}, signal) {
  let next = null;
  const list = [topics].flat().join(",");
  const url = () => address("stream", next ? { topics: list, from: JSON.stringify(next) } : { topics: list, start });
  const onEvent = (name, told) => {
    if (name !== "events") return;
    const past = next === null;
    next = { ...next, ...told.next };
    if (told.events.length) onEvents(told.events, past);
  };
  followSeen(url, { onEvent, onState, signal });
}
