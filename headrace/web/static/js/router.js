// Pages by the address after the #: `#/topics/orders?key=a` is the page `topics` about `orders`.

import { takeToken } from "./api.js";
import { el, replace } from "./dom.js";

let pages = {};
let leaving = null;
let shown = "";

/** Return the page, the name and the query that an address asks for. */
export function parse(hash) {
  const [way, search = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = way.split("/");
  let name = rest.join("/");
  try {
    name = decodeURIComponent(name);
  } catch {
    // shown as it was typed
  }
  return { page: page || "overview", name, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** Show pages as the address changes; `table` has for each its title and a function that loads its module. */
export function route(table) {
  pages = table;
  window.addEventListener("hashchange", () => {
    if (takeToken() || location.hash === "#content") return; // another token shows the page anew by itself
    show();
  });
  return show();
}

/** Go to a page. */
export function go(way) {
  if (`#/${way}` === location.hash) show();
  else location.hash = `#/${way}`;
}

/** Change the query in the address without showing the page anew. */
export function note(query) {
  const { page, name } = parse(location.hash);
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
  const way = `#/${page}${name ? `/${encodeURIComponent(name)}` : ""}${search ? `?${search}` : ""}`;
  history.replaceState(null, "", way);
}

/** Show the page of the address again, as if it was opened now. */
export async function show() {
  const place = parse(location.hash);
  const entry = Object.hasOwn(pages, place.page) ? pages[place.page] : undefined;
  leaving?.abort();
  const { signal } = (leaving = new AbortController());
  const first = shown === "";
  const same = shown === `${place.page}/${place.name}`;
  shown = `${place.page}/${place.name}`;
  const element = el("div", { class: `page page-${entry ? place.page : "missing"}` });
  const holder = document.getElementById("page");
  title(place, entry);
  window.dispatchEvent(new CustomEvent("headrace:page", { detail: place }));
  if (!entry) {
    replace(holder, el("div", { class: "empty" }, el("h1", {}, "There is no such page"), el("p", {}, el("a", { href: "#/overview" }, "Go to the overview"))));
    return arrive(first);
  }
  try {
    const module = await entry.load();
    if (signal.aborted) return;
    replace(holder, element);
    if (!same) arrive(first);
    const left = await module.show(element, { ...place, signal });
    if (typeof left === "function") signal.aborted ? left() : signal.addEventListener("abort", left);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    console.error(error);
    const again = el("button", { type: "button", on: { click: show } }, "Try again");
    replace(holder, el("div", { class: "panel failure", role: "alert", data: { retry: "" } }, el("p", {}, error.message), again));
  }
}

/** Begin at the top, also with keys; but a page that is loaded leaves the focus where the browser has it. */
function arrive(first) {
  window.scrollTo(0, 0);
  if (!first) document.getElementById("content").focus({ preventScroll: true });
}

function title(place, entry) {
  const parts = [place.name, entry?.title ?? "No such page", "Headrace"].filter(Boolean);
  document.title = parts.join(" · ");
}
