// Asking again and again, without asking a server that is away or for a page that nobody sees.

import { el, replace } from "./dom.js";
import { connection, onLive } from "./live.js";

/**
 * Call `ask` at once and then again some seconds after each end, until `signal`.
 * The first failure is raised; later ones are left to the connection's own words. Returns a function that asks now.
 */
export async function poll(seconds, ask, signal) {
  let timer = 0;
  let busy = null;
  const round = async () => {
    clearTimeout(timer);
    try {
      if (!document.hidden && connection().state !== "lost") await (busy ??= ask());
    } catch (error) {
      if (!signal.aborted && error.status !== 0) console.warn(error.message);
    } finally {
      busy = null;
      clearTimeout(timer);
      if (!signal.aborted) timer = setTimeout(round, seconds * 1000);
    }
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  await ask();
  timer = setTimeout(round, seconds * 1000);
  onLive("connection", () => connection().state === "open" && round(), signal);
  return round;
}

/** Say in an element that something is being waited for, until it is replaced. */
export function waiting(element, message = "Loading…") {
  return replace(element, el("p", { class: "quiet-text waiting" }, message));
}

/** Say that there is nothing yet, and what to run next. */
export function empty(title, hint, ...commands) {
  return el(
    "div",
    { class: "empty" },
    el("h2", {}, title),
    hint && el("p", {}, hint),
    commands.map((command) => el("pre", { class: "command" }, command)),
  );
}
