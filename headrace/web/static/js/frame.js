// What stands around every page: the navigation with its counts, the connection, the theme.

import { onTheme, switchTheme, theme } from "./colours.js";
import { askToken } from "./dialog.js";
import { button, el, replace, svg, text } from "./dom.js";
import { showKeys } from "./keys.js";
import { connection, live, onLive } from "./live.js";
import { PAGES } from "./pages.js";
import { show } from "./router.js";

const STATES = {
  connecting: "Connecting…",
  open: "Live",
  lost: "Connection lost",
  refused: "Not signed in",
};

/** Build the frame and keep it up to date. */
export function frame() {
  const badges = navigation();
  menu();
  themes();
  document.getElementById("keys").addEventListener("click", showKeys);
  onLive("state", () => counts(badges));
  onLive("connection", () => connected());
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the part after the # is the page's
    document.getElementById("content").focus();
  });
}

function navigation() {
  const badges = {};
  const items = Object.entries(PAGES).map(([name, page]) => {
    const badge = (badges[name] = el("span", { class: "count" }));
    const icon = svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: page.icon }));
    return el("li", {}, el("a", { href: `#/${name}`, data: { page: name } }, icon, el("span", {}, page.title), badge));
  });
  replace(document.getElementById("pages"), items);
  window.addEventListener("headrace:page", (event) => {
    for (const anchor of document.querySelectorAll("#pages a")) {
      if (anchor.dataset.page === event.detail.page) anchor.setAttribute("aria-current", "page");
      else anchor.removeAttribute("aria-current");
    }
    unfold(false);
  });
  return badges;
}

function counts(badges) {
  const { overview } = live;
  const firing = overview.firing ?? 0;
  badge(badges.alerts, firing, firing === 1 ? "1 alert fires" : `${firing} alerts fire`);
  const troubled = (overview.problems ?? []).filter((problem) => problem.page === "queries").length;
  badge(badges.queries, troubled, `${troubled} with problems`);
  text(document.getElementById("brokers"), overview.brokers ? `Kafka at ${overview.brokers}` : "");
  const told = document.title.replace(/^\(\d+\) /, "");
  const wanted = firing ? `(${firing}) ${told}` : told;
  if (document.title !== wanted) document.title = wanted;
}

function badge(element, number, label) {
  text(element, number || "");
  element.title = number ? label : "";
}

function unfold(open) {
  document.getElementById("menu").setAttribute("aria-expanded", String(open));
  document.body.classList.toggle("menu-open", open);
}

function menu() {
  const knob = document.getElementById("menu");
  knob.addEventListener("click", () => unfold(knob.getAttribute("aria-expanded") !== "true"));
  document.addEventListener("keydown", (event) => event.key === "Escape" && unfold(false));
}

function themes() {
  const knob = document.getElementById("theme");
  const tell = () => text(knob, `Theme: ${theme()}`);
  knob.addEventListener("click", switchTheme);
  onTheme(tell);
  tell();
}

function connected() {
  const { state, reason } = connection();
  const line = document.getElementById("connection");
  line.dataset.state = state;
  text(line, STATES[state]);
  const banner = document.getElementById("banner");
  banner.hidden = state !== "lost" && state !== "refused";
  document.body.classList.toggle("stale", state === "lost");
  if (state === "lost") replace(banner, lost());
  if (state === "refused") replace(banner, refused(reason));
  if (state === "open" && document.querySelector("[data-retry]")) show();
}

function lost() {
  return [
    el("strong", {}, "The connection to the server is lost."),
    " What you see may be old. It is tried again every few seconds; if the server was stopped, start it with ",
    el("code", {}, "headrace ui"),
    ".",
  ];
}

function refused(reason) {
  return [
    el("strong", {}, "The server does not let this page in. "),
    `${reason} `,
    button("Give the token", () => askToken(true), { class: "small" }),
  ];
}
