// How a query is, as a level, a sign and words: colour is never the only sign.

import { el, svg } from "./dom.js";
import * as format from "./format.js";

const SIGNS = {
  good: "M5 12.5l4.5 4.5L19 7.5",
  warning: "M12 4v10M12 18.5v.6",
  bad: "M6 6l12 12M18 6L6 18",
  info: "M12 11v8M12 5.5v.6",
  off: "M6 12h12",
};
const SEVERE = { critical: "bad", warning: "warning" };
const LATE = { warning: 5, bad: 60 }; // seconds of lag from which a query is under pressure
const LASTING = { warning: 60, bad: 300 }; // seconds of one batch from which it is

/** Return a small sign for a level: good, warning, bad, info or off. */
export function sign(level) {
  return svg("svg", { class: `sign ${level}`, width: 15, height: 15, viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: Object.hasOwn(SIGNS, level) ? SIGNS[level] : SIGNS.info }));
}

/** Return a sign with a word. */
export function badge(level, word) {
  return el("span", { class: `badge ${level}` }, sign(level), word);
}

/** Return the level of an alert's severity; what else somebody has written there is no worse than a note. */
export function severity(name) {
  return Object.hasOwn(SEVERE, name) ? SEVERE[name] : "info";
}

/** Return for how many seconds a query would have to work to be done with its lag. */
export function behind(stage) {
  if (!stage.lag) return 0;
  return stage.lag / Math.max(stage.rows_per_second || 0, 1);
}

/** Return how hard pressed a query is: `{level, word}`. */
export function pressure(stage) {
  if (stage.state === "failed") return { level: "bad", word: "failed" };
  if (stage.state === "waiting") return { level: "bad", word: "restarting" };
  if (stage.state === "stopped") return { level: "off", word: "stopped" };
  if (stage.under_way >= LASTING.warning) return { level: stage.under_way >= LASTING.bad ? "bad" : "warning", word: `${format.span(stage.under_way)} in one batch` };
  if (stage.catching_up) return { level: "warning", word: "catching up" };
  const seconds = behind(stage);
  if (seconds >= LATE.bad) return { level: "bad", word: `${format.span(seconds)} behind` };
  if (seconds >= LATE.warning) return { level: "warning", word: `${format.span(seconds)} behind` };
  return { level: "good", word: "running" };
}

/** Return how far event time is behind the clock, in words. */
export function watermark(stage) {
  const seconds = format.since(stage.watermark);
  return seconds === null ? "–" : `${format.span(Math.max(0, Math.round(seconds)))} ago`;
}
