// Alerts: what fires now, what did, what is silenced; acknowledged and silenced here.

import { get, post } from "../api.js";
import { confirm, dialog, toast } from "../dialog.js";
import { button, el, keep, link, path, replace } from "../dom.js";
import * as format from "../format.js";
import { empty, poll, waiting } from "../poll.js";
import { badge, severity } from "../status.js";
import { table } from "../table.js";

/** Show alerts; a name in the address is a rule, and only its alerts are shown. */
export async function show(element, { name, signal }) {
  const current = el("section", { "aria-label": "Firing" });
  const silences = el("section", { class: "panel flush" });
  const past = el("section", { class: "panel flush" });
  const history = historyTable();
  const silenced = silenceTable((silence) => unsilence(silence));
  element.append(
    name && el("p", { class: "crumb" }, link("alerts", "Alerts")),
    el("h1", {}, name ? `Alerts of ${name}` : "Alerts"),
    waiting(current),
    silences,
    past,
  );
  replace(silences, el("h2", {}, "Silences"), silenced.element);
  replace(past, el("h2", {}, "History"), history.element);
  const mine = (rows) => (name ? rows.filter((row) => row.rule === name) : rows);
  const cards = new Map();

  const load = async () => {
    const told = await get("alerts", {}, signal);
    firing(current, mine(told.current), cards, again);
    history.set(mine(told.history));
    silenced.set(mine(told.silences));
  };
  const unsilence = async (silence) => {
    const done = await confirm("End this silence?", `People are told again about ${silence.rule}.`, "End the silence", () => post("alerts/unsilence", { id: silence.id }));
    if (done) again();
  };
  const round = await poll(2, load, signal);
  function again() {
    round?.();
  }
}

function firing(holder, alerts, cards, again) {
  if (!alerts.length) {
    cards.clear();
    const hint = "Nothing fires. A program declares rules with hr.Alert(name, rows, when=…); try one on what was:";
    replace(holder, el("div", { class: "panel" }, empty("No alert fires", hint, "headrace alert backtest PROGRAM.py RULE --from '1 day'")));
    return;
  }
  const wanted = alerts.map((alert) => {
    const key = JSON.stringify([alert.id, alert.acked_by, alert.ack_comment, alert.silenced_until, alert.message, alert.severity]);
    if (!cards.has(key)) cards.set(key, card(alert, again));
    cards.get(key).tick();
    return [key, cards.get(key).element];
  });
  const kept = new Set(wanted.map(([key]) => key));
  for (const key of cards.keys()) if (!kept.has(key)) cards.delete(key);
  keep(holder, wanted.map(([, element]) => element));
}

function card(alert, again) {
  const level = severity(alert.severity);
  const since = el("span", { class: "quiet-text", title: format.moment(alert.since) });
  const seen = alert.acked_by && `acknowledged by ${alert.acked_by}${alert.ack_comment ? `: ${alert.ack_comment}` : ""}`;
  const notes = [seen, alert.silenced_until && `silenced until ${format.moment(alert.silenced_until)}`].filter(Boolean);
  const actions = el(
    "div",
    { class: "actions" },
    !alert.acked_by && button("Acknowledge", () => acknowledge(alert, again), { class: "small" }),
    !alert.silenced_until && button("Silence", () => silence(alert, again), { class: "quiet small" }),
    button("Resolve", () => resolve(alert, again), { class: "quiet small" }),
  );
  const element = el(
    "article",
    { class: `panel alert ${level}` },
    el("header", {}, badge(level, alert.severity), el("h2", {}, link(path("alerts", alert.rule), alert.rule)), el("span", { class: "quiet-text" }, alert.program), since, actions),
    el("p", { class: "alert-text" }, alert.message || alert.rule),
    keyText(alert.key) && el("p", { class: "mono small-text" }, keyText(alert.key)),
    notes.length > 0 && el("p", { class: "quiet-text" }, notes.join(" · ")),
    rowOf(alert),
  );
  return { element, tick: () => (since.textContent = `since ${format.clock(alert.since)}, ${format.ago(alert.since)}`) };
}

function rowOf(alert) {
  const cells = Object.entries(alert.row ?? {});
  if (!cells.length) return null;
  return el("details", {}, el("summary", {}, "The row"), el("dl", { class: "facts" }, cells.map(([name, value]) => [el("dt", { class: "mono" }, name), el("dd", { class: "mono" }, format.line(value))])));
}

function keyText(key) {
  if (!key || typeof key !== "object") return key ? String(key) : "";
  return Object.entries(key).map(([name, value]) => `${name} ${format.line(value)}`).join(", ");
}

async function acknowledge(alert, again) {
  if (await commented(alert, "Acknowledge", "ack")) again(toast("Acknowledged."));
}

async function resolve(alert, again) {
  const hint = "An alert resolves by itself while its program runs. This is for one whose rule or program is gone.";
  if (await commented(alert, "Resolve", "resolve", hint)) again(toast("Resolved."));
}

/** Ask for a comment, then do something to an alert. */
function commented(alert, label, what, hint) {
  const comment = el("input", { id: "comment", autocomplete: "off", maxlength: "500" });
  const content = [el("p", {}, alert.message || alert.rule), hint && el("p", { class: "quiet-text" }, hint), el("label", { for: "comment" }, "Comment, for the others"), comment];
  const run = async () => (await post(`alerts/${what}`, { id: alert.id, comment: comment.value }), true);
  return dialog(`${label} the alert?`, content, [{ label: "Cancel" }, { label, run }]);
}

const SPANS = ["15 minutes", "1 hour", "4 hours", "1 day", "7 days"];

async function silence(alert, again) {
  const span = el("select", { id: "span" }, SPANS.map((one) => el("option", {}, one)));
  span.value = "1 hour";
  const own = keyText(alert.key);
  const which = el("select", { id: "which" }, own && el("option", { value: "key" }, `Only ${own}`), el("option", { value: "rule" }, `The whole rule ${alert.rule}`));
  const comment = el("input", { id: "comment", autocomplete: "off", maxlength: "500" });
  const content = [
    el("p", {}, "Nobody is told of it meanwhile; it is still shown here."),
    el("label", { for: "which" }, "What"),
    which,
    el("label", { for: "span" }, "For"),
    span,
    el("label", { for: "comment" }, "Comment, for the others"),
    comment,
  ];
  const body = () => ({ rule: alert.rule, key: which.value === "key" ? alert.key : null, span: span.value, comment: comment.value });
  const done = await dialog("Silence the alert?", content, [{ label: "Cancel" }, { label: "Silence", run: async () => (await post("alerts/silence", body()), true) }]);
  if (done) again(toast("Silenced."));
}

function historyTable() {
  const columns = [
    { name: "at", label: "When", value: (a) => a.at, cell: (a) => format.moment(a.at), class: "time" },
    { name: "state", label: "State", value: (a) => a.state, cell: (a) => badge(a.state === "firing" ? severity(a.severity) : "good", a.state === "firing" ? `fires, ${a.severity}` : a.state), once: true },
    { name: "rule", label: "Rule", value: (a) => a.rule, cell: (a) => link(path("alerts", a.rule), a.rule), once: true, class: "name" },
    { name: "message", label: "Message", cell: (a) => a.message || keyText(a.key), class: "long" },
    { name: "program", label: "Program", value: (a) => a.program, cell: (a) => a.program, wide: true },
  ];
  return table({ columns, key: (a) => `${a.id} ${a.state}`, label: "History of alerts", none: "No alert has fired yet." });
}

function silenceTable(end) {
  const until = (s) => s.until ?? s.silenced_until ?? s.to;
  const columns = [
    { name: "rule", label: "Rule", value: (s) => s.rule, cell: (s) => link(path("alerts", s.rule), s.rule), once: true, class: "name" },
    { name: "key", label: "Which", cell: (s) => keyText(s.key) || "all" },
    { name: "until", label: "Until", value: until, cell: (s) => format.moment(until(s)), class: "time" },
    { name: "by", label: "By", value: (s) => s.by, cell: (s) => s.by ?? "", wide: true },
    { name: "comment", label: "Comment", cell: (s) => s.comment ?? "", class: "long", wide: true },
    { name: "end", label: "", cell: (s) => button("End", () => end(s), { class: "quiet small" }), once: true },
  ];
  return table({ columns, key: (s) => s.id, label: "Silences", sort: "until", none: "Nothing is silenced." });
}
