// One query: charts of what it does, its last error, what it reads and writes; stopped and restarted here.

import { get, post } from "../api.js";
import { chart } from "../chart.js";
import { confirm, toast } from "../dialog.js";
import { button, el, link, path, replace, text } from "../dom.js";
import * as format from "../format.js";
import { described, onLive, stages, watch } from "../live.js";
import { poll } from "../poll.js";
import { badge, pressure, watermark } from "../status.js";

const LONG = 10; // seconds after which a batch that is under way is told
const CHARTS = [
  {
    label: "Rows per second",
    format: format.rate,
    columns: ["rate", "rows_per_second"],
    series: [{ label: "come in" }, { label: "processed in a batch", colour: "quiet", fill: false }],
  },
  { label: "Lag, events", format: format.short, columns: ["lag"], least: 10 },
  { label: "Time of a batch", format: format.span, columns: ["batch_seconds"] },
  { label: "Rows kept as state", format: format.short, columns: ["state_rows"], least: 10 },
];

/** Show a query. */
export async function show(element, { name, signal }) {
  const state = el("span", { class: "state-line" });
  const stop = button("Stop", () => act("stop"), { class: "quiet" });
  const restart = button("Restart", () => act("restart"));
  const tiles = el("dl", { class: "facts wide-facts" });
  const error = el("section", { class: "panel failure", hidden: true });
  const charts = el("section", { class: "grid-2", "aria-label": "The last quarter of an hour" });
  const way = el("section", { class: "panel" });
  element.append(
    el("p", { class: "crumb" }, link("queries", "Queries")),
    el("header", { class: "head" }, el("h1", { class: "mono" }, name), state, el("div", { class: "actions" }, stop, restart)),
    error,
    tiles,
    charts,
    way,
  );

  async function act(verb) {
    const question = verb === "stop"
      ? "The batch under way is finished first. The query then does nothing until it is restarted, and its lag grows."
      : "The batch under way is finished first; then the query goes on where it was. Nothing is lost or repeated.";
    const label = verb === "stop" ? "Stop the query" : "Restart the query";
    const done = await confirm(`${label}?`, `${name}: ${question}`, label, () => post(`queries/${encodeURIComponent(name)}/${verb}`), verb === "stop");
    if (done) toast(`${name} was ${verb === "stop" ? "stopped" : "restarted"}.`);
  }

  const draw = () => {
    const stage = stages().find((one) => one.name === name);
    stop.disabled = !stage || stage.state === "stopped";
    restart.disabled = !stage;
    if (!stage) return replace(state, badge("off", "does not run here"));
    const { level, word } = pressure(stage);
    if (state.textContent !== word) replace(state, badge(level, word));
    facts(tiles, stage);
    error.hidden = !stage.error;
    if (stage.error && error.dataset.told !== stage.error) {
      error.dataset.told = stage.error;
      replace(error, el("h2", {}, "Last error"), el("pre", {}, stage.error));
    }
  };
  const drawWay = () => replace(way, wayOf(name));
  watch(draw, signal);
  drawWay();
  onLive("topology", drawWay, signal);
  const drawn = CHARTS.map((one) => ({ ...one, plot: chart(panel(charts), { series: [{ label: one.label }], ...one, sync: "query", signal }) }));
  await poll(1, async () => {
    const told = await history(name, signal);
    for (const one of told ? drawn : []) one.plot.set([told.t, ...one.columns.map((name) => told[name])]);
  }, signal);
}

/** Return what is known of a query that runs, or null if that is nothing yet. */
async function history(name, signal) {
  try {
    return await get(`history/${encodeURIComponent(name)}`, {}, signal);
  } catch (error) {
    if (error.status === 404 && stages().some((stage) => stage.name === name)) return null;
    throw error;
  }
}

function panel(parent) {
  const box = el("div", { class: "panel" });
  parent.append(box);
  return box;
}

/** Return which batch was the last, and since when the next is under way where that is long. */
function batch(stage) {
  const last = stage.batch === null ? "none yet" : `${format.count(stage.batch)}, in ${format.span(stage.batch_seconds)}`;
  return stage.under_way > LONG ? `${last}; the next for ${format.span(stage.under_way)} so far` : last;
}

function facts(list, stage) {
  const told = [
    ["Rows so far", format.count(stage.rows)],
    ["Come in", format.rate(stage.rate)],
    ["Processed", format.rate(stage.rows_per_second)],
    ["Lag", format.many(stage.lag ?? 0, "event")],
    ["Batch", batch(stage)],
    ["Watermark", watermark(stage)],
    ["Rows kept", format.count(stage.state_rows)],
    ["Came too late", format.count(stage.late)],
    ["Started again", format.many(stage.restarts, "time")],
  ];
  if (list.children.length !== told.length) replace(list, told.map(([name]) => el("div", {}, el("dt", {}, name), el("dd"))));
  told.forEach(([, value], number) => text(list.children[number].lastChild, value));
}

/** Return what the query reads, does and writes, as the program declares it. */
function wayOf(name) {
  const stage = described().flatMap((one) => one.stages.map((each) => ({ ...each, full: `${one.program}.${each.name}` }))).find((each) => each.full === name);
  if (!stage) return el("p", { class: "quiet-text" }, "What it reads and writes is known while its program runs.");
  const target = stage.kind === "files" ? el("code", {}, stage.writes) : link(path("topics", stage.writes), stage.writes);
  const reads = stage.reads.map((topic, number) => [number ? ", " : "", link(path("topics", topic), topic)]);
  return [
    el("h2", {}, "What it does"),
    el("p", {}, "Reads ", reads, ", writes ", target, `: ${stage.guarantee}, ${stage.emits}.`),
    el("ol", { class: "steps" }, stage.steps.map((step) => el("li", {}, el("span", { class: "mono" }, step.label), step.state !== null && badge("plain", "keeps state")))),
    stage.declared && el("p", { class: "quiet-text" }, `Declared at ${stage.declared}`),
  ];
}
