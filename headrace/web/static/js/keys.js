// Keys: `/` searches, `g` and a letter goes to a page, `?` shows what there is. A page may have keys of its own.

import { el, typing } from "./dom.js";
import { dialog } from "./dialog.js";
import { PAGES } from "./pages.js";
import { go } from "./router.js";

const PATIENCE = 1500; // milliseconds between `g` and the letter
const own = new Map();
let waiting = 0;

/** Listen to the keyboard. */
export function keys() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (pressed(event.key)) event.preventDefault();
  });
}

/** Add a key while a page is shown. */
export function onKey(key, label, action, signal) {
  own.set(key, { label, action });
  signal.addEventListener("abort", () => own.delete(key));
}

function pressed(key) {
  if (performance.now() < waiting) {
    waiting = 0;
    const page = Object.entries(PAGES).find(([, entry]) => entry.letter === key);
    if (page) go(page[0]);
    return Boolean(page);
  }
  if (key === "g") waiting = performance.now() + PATIENCE;
  else if (key === "/") return search();
  else if (key === "?") showKeys();
  else if (own.has(key)) own.get(key).action();
  else return false;
  return true;
}

function search() {
  const field = document.querySelector("#page [data-search]");
  field?.focus();
  field?.select?.();
  return Boolean(field);
}

/** Show all keys. */
export function showKeys() {
  const rows = [
    ["/", "Search on this page"],
    ...[...own].filter(([key]) => key !== "Escape").map(([key, { label }]) => [key, label]),
    ...Object.values(PAGES).map((page) => [`g ${page.letter}`, page.title]),
    ["Esc", "Close what is open"],
    ["?", "These keys"],
  ];
  const list = rows.map(([press, label]) => [
    el("dt", {}, press.split(" ").map((key) => el("kbd", {}, key))),
    el("dd", {}, label),
  ]);
  dialog("Keys", el("dl", { class: "keys" }, list), [{ label: "Close" }]);
}
