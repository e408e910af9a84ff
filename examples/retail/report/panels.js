// The panels of the report: each makes its elements once, and then only changes what has changed.

import { CITIES, cityOf } from "./cities.js";

const SHOWN = 8;
const EURO = new Intl.NumberFormat("en", { style: "currency", currency: "EUR", notation: "compact", maximumFractionDigits: 1 });
const CENT = new Intl.NumberFormat("en", { style: "currency", currency: "EUR" });

/** Return an amount of cents in short. */
export const euros = (cents) => (cents === undefined || cents === null ? "–" : EURO.format(cents / 100));

function panel(api, title, hint, ...children) {
  const head = api.el("header", { class: "retail-head" }, api.el("h2", {}, title), hint && api.el("span", { class: "quiet-text" }, hint));
  return api.el("section", { class: "panel retail-panel" }, head, ...children);
}

/** Show a few numbers: `set([[value, note, tone], …])`. */
export function tiles(api, labels) {
  const made = labels.map((label) => ({ label, value: api.el("strong", {}, "–"), note: api.el("span", { class: "quiet-text" }) }));
  const element = api.el("ul", { class: "retail-tiles" }, made.map(({ label, value, note }) => api.el("li", { class: "panel" }, api.el("span", {}, label), value, note)));
  return {
    element,
    set(values) {
      values.forEach(([value, note, tone], number) => {
        api.text(made[number].value, value);
        api.text(made[number].note, note);
        made[number].note.dataset.tone = tone ?? "";
      });
    },
  };
}

/** Show a ranking with bars: `set([{label, value, share}, …])`. */
export function ranking(api, title, hint, nothing) {
  const rows = Array.from({ length: SHOWN }, () => {
    const row = { label: api.el("span"), value: api.el("span"), bar: api.el("i") };
    row.element = api.el("li", { hidden: true }, row.bar, row.label, row.value);
    return row;
  });
  const empty = api.el("p", { class: "quiet-text" }, nothing);
  const element = panel(api, title, hint, empty, api.el("ol", { class: "retail-bars" }, rows.map((row) => row.element)));
  return {
    element,
    set(values) {
      empty.hidden = values.length > 0;
      rows.forEach((row, number) => {
        const told = values[number];
        row.element.hidden = !told;
        if (!told) return;
        api.text(row.label, told.label);
        api.text(row.value, told.value);
        row.bar.style.width = `${Math.max(0, Math.min(1, told.share)) * 100}%`;
      });
    },
  };
}

/** Show the cities as dots, the larger the more they sell: `set(ranking of shops, whether that is all of them)`. */
export function map(api) {
  const dots = new Map();
  const lines = [-120, -60, 0, 60, 120].map((east) => api.svg("path", { d: `M${east + 170} 0V124`, class: "retail-grid" }));
  const rounds = [-30, 0, 30, 60].map((north) => api.svg("path", { d: `M0 ${74 - north}H355`, class: "retail-grid" }));
  for (const [city, [east, north]] of Object.entries(CITIES)) {
    const title = api.svg("title", {}, city);
    dots.set(city, { title, dot: api.svg("circle", { cx: east + 170, cy: 74 - north, r: 1.5, class: "retail-dot" }, title) });
  }
  const picture = api.svg("svg", { viewBox: "0 0 355 124", class: "retail-map", role: "img", "aria-label": "Revenue of each city" }, lines, rounds, [...dots.values()].map(({ dot }) => dot));
  const web = api.el("p", { class: "quiet-text" });
  const element = panel(api, "Cities", "last 5 minutes", picture, web);
  return {
    element,
    set(shops, complete) {
      const sums = new Map();
      for (const { name, cents } of shops) {
        const city = name === "WEB" ? "Web" : cityOf(name);
        sums.set(city, (sums.get(city) ?? 0) + cents);
      }
      api.text(web, `Web shop: ${euros(sums.get("Web") ?? 0)}`);
      sums.delete("Web");
      const most = Math.max(1, ...sums.values());
      for (const [city, { dot, title }] of dots) {
        const cents = sums.get(city) ?? 0;
        const radius = cents > 0 ? (2 + 6 * Math.sqrt(cents / most)).toFixed(1) : "1.5";
        if (dot.getAttribute("r") !== radius) dot.setAttribute("r", radius);
        dot.classList.toggle("closed", complete && !sums.has(city));
        api.text(title, `${city}: ${sums.has(city) ? euros(cents) : complete ? "closed" : "not known yet"}`);
      }
    },
  };
}

/** Show the latest of something: `set([{key, words, note, at}, …])`, the newest first. */
export function feed(api, title, hint, nothing) {
  const list = api.el("ul", { class: "retail-feed" });
  const empty = api.el("p", { class: "quiet-text" }, nothing);
  let shown = "";
  return {
    element: panel(api, title, hint, empty, list),
    set(entries) {
      const now = JSON.stringify(entries);
      if (now === shown) return;
      shown = now;
      empty.hidden = entries.length > 0;
      const rows = entries.slice(0, SHOWN).map(({ words, note, at }) => {
        const side = api.el("span", { class: "quiet-text" }, note, note && " · ", api.format.clock(at));
        return api.el("li", {}, api.el("span", {}, words), side);
      });
      api.replace(list, rows);
    },
  };
}

/** Return an amount of cents to the cent. */
export const exactly = (cents) => CENT.format(cents / 100);
