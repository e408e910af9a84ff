// One table: browsed row by row, looked up by key, queried with SQL that can only read.

import { get, post } from "../api.js";
import { attempt } from "../dialog.js";
import { button, el, link, replace, text } from "../dom.js";
import * as format from "../format.js";
import { pretty } from "../json.js";

const PAGE = 50; // rows of one answer
const MOST = 1000; // rows that a query may bring

/** Show a table. */
export async function show(element, { name, query, signal }) {
  const at = `tables/${encodeURIComponent(name)}`;
  element.append(el("p", { class: "crumb" }, link("tables", "Tables")), el("h1", { class: "mono" }, name), lookup(at, query.key ?? "", signal), sqlBox(at, name, signal));
  const browse = el("section", { class: "panel flush" }, el("h2", {}, "Rows"));
  element.append(browse);
  await rows(browse, at, signal);
}

function lookup(at, key, signal) {
  const field = el("input", { type: "search", id: "key", value: key, placeholder: "as it lies in the topic; JSON where it has columns", data: { search: "" }, autocomplete: "off", spellcheck: "false" });
  const found = el("div", { class: "found", role: "status" });
  const form = el("form", { class: "panel", role: "search" }, el("h2", {}, "One row"), el("div", { class: "tools" }, el("label", { for: "key" }, "Key"), field, el("button", { type: "submit" }, "Get")), found);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!field.value) return;
    try {
      const row = await get(`${at}/row`, { key: field.value }, signal);
      replace(found, !row.complete && unread(), pretty(row.row));
    } catch (error) {
      if (!signal.aborted) replace(found, el("p", { class: "trouble" }, error.message));
    }
  });
  return form;
}

function sqlBox(at, name, signal) {
  const field = el("textarea", { id: "sql", rows: "3", spellcheck: "false", autocomplete: "off" });
  field.value = `select * from "${name.replaceAll('"', '""')}" limit 20`;
  const result = el("div", { class: "result" });
  const run = el("button", { type: "submit" }, "Run");
  const told = el("span", { class: "quiet-text", role: "status" });
  const form = el("form", { class: "panel" }, el("h2", {}, "SQL"), el("label", { for: "sql" }, "A SELECT of SQLite; it can only read"), field, el("div", { class: "tools" }, run, el("span", { class: "quiet-text wide" }, "Ctrl Enter"), told), result);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    run.disabled = true;
    text(told, "Running…");
    try {
      const answer = await post(`${at}/query`, { sql: field.value, limit: MOST }, signal);
      text(told, `${format.many(answer.rows.length, "row")}${answer.more ? ", and there are more" : ""}, in ${format.span(answer.seconds)}`);
      replace(result, !answer.complete && unread(), grid(answer.columns, answer.rows));
    } catch (error) {
      if (signal.aborted) return;
      text(told, "");
      replace(result, el("p", { class: "trouble", role: "alert" }, error.message));
    } finally {
      run.disabled = false;
    }
  });
  return form;
}

/** Return rows as a table, with as many columns as there are. */
export function grid(columns, rows) {
  if (!rows.length) return el("p", { class: "quiet-text none" }, "No rows.");
  const numeric = columns.map((_, number) => rows.every((row) => row[number] === null || typeof row[number] === "number"));
  const cell = (value, number) => el("td", { class: numeric[number] ? "number" : "", title: format.line(value, 1000) }, value === null ? el("span", { class: "quiet-text" }, "null") : format.line(value, 120));
  return el(
    "div",
    { class: "table-box tall", tabindex: "0", role: "region", "aria-label": "Result" },
    el("table", { class: "data mono" }, el("thead", {}, el("tr", {}, columns.map((name, number) => el("th", { scope: "col", class: numeric[number] ? "number" : "" }, name)))), el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell))))),
  );
}

function unread() {
  return el("p", { class: "quiet-text none" }, "The table is still being read: rows may be missing, or old.");
}

async function rows(panel, at, signal) {
  const holder = el("div");
  const state = el("p", { class: "quiet-text none" }, "Loading… the first look at a large table takes a while: its rows are stored beside the server.");
  const first = button("From the start", attempt(() => load(null)), { class: "quiet small" });
  const next = button("Next rows", attempt(() => load(after)), { class: "small" });
  let after = null;
  const bar = el("div", { class: "tools pager", hidden: true }, first, next, state);
  panel.append(holder, bar);
  replace(holder, state);

  async function load(from) {
    const told = await get(`${at}/rows`, { after: from, limit: PAGE }, signal);
    after = told.after;
    replace(holder, !told.complete && unread(), grid(told.columns, told.rows));
    bar.hidden = false;
    bar.append(state);
    next.disabled = !told.more;
    first.disabled = from === null;
    text(state, format.many(told.rows.length, "row"));
  }

  for (const knob of [first, next]) knob.addEventListener("click", () => panel.scrollIntoView({ block: "nearest" }));
  await load(null);
}
