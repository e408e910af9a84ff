// The overview: how everything is, what is wrong with the worst on top, and where to mend it.

import { get } from "../api.js";
import { chart } from "../chart.js";
import { el, keep, link, path, replace, text } from "../dom.js";
import * as format from "../format.js";
import { live, recallAll, stages, trace, watch } from "../live.js";
import { empty, poll, waiting } from "../poll.js";
import { badge, pressure, severity, sign } from "../status.js";
import { queryTable } from "./queries.js";

const HEALTH = {
  good: "Everything flows",
  warning: "Something needs a look",
  bad: "Something is broken",
  empty: "Nothing runs yet",
};
const SHOWN = 5; // lines of firing alerts

/** Show the overview. */
export async function show(element, { signal }) {
  element.append(el("h1", { class: "hidden-title" }, "Overview"));
  const holder = el("div");
  element.append(waiting(holder, "Waiting for the first word from the server…"));
  let draw = null;
  watch(() => {
    const wanted = live.overview.health === "empty" ? "empty" : "full";
    if (holder.dataset.kind !== wanted) {
      holder.dataset.kind = wanted;
      draw = wanted === "empty" ? begin(holder) : build(holder, signal);
    }
    draw();
  }, signal);
}

function begin(holder) {
  replace(
    holder,
    el("div", { class: "panel" }, empty("Nothing runs yet", "The dashboard is ready. See the retail mesh at work, or run a program of your own:", "headrace demo", "headrace run PROGRAM.py")),
    el("p", { class: "quiet-text" }, "Topics without programs are on the page ", link("topics", "Topics"), "."),
  );
  return () => {};
}

function build(holder, signal) {
  const health = el("section", { class: "panel health", "aria-label": "Health" });
  const tiles = Object.fromEntries(["Throughput", "Lag", "Queries", "Firing alerts"].map((name) => [name, tile(name)]));
  const problems = problemList();
  const flow = el("div", { class: "panel" });
  const lag = el("div", { class: "panel" });
  const lines = el("ul", { class: "alert-short" });
  const alerts = el("section", { class: "panel", hidden: true }, el("h2", {}, link("alerts", "Firing alerts")), lines);
  const list = queryTable(signal, "No program runs. Start one with: headrace run PROGRAM.py");
  replace(
    holder,
    el("div", { class: "tiles glance" }, health, Object.values(tiles).map((one) => one.element)),
    problems.element,
    el("div", { class: "grid-2" }, flow, lag),
    alerts,
    el("section", { class: "panel flush" }, el("h2", {}, link("queries", "Queries")), list.element),
  );
  const charts = [
    chart(flow, { label: "Events per second", format: format.rate, least: 10, series: [{ label: "all queries" }], signal }),
    chart(lag, { label: "Lag, events", format: format.short, least: 10, series: [{ label: "all queries" }], signal }),
  ];
  recallAll(signal);
  poll(5, () => firing(alerts, lines, signal), signal).catch(() => {});
  return () => {
    const { overview } = live;
    const told = trace();
    heading(health, overview);
    list.set(stages());
    problems.set(overview.problems ?? []);
    numbers(tiles, overview);
    charts[0].set([told.t, told.rate]);
    charts[1].set([told.t, told.lag]);
  };
}

function heading(element, overview) {
  const count = (overview.problems ?? []).length;
  const word = Object.hasOwn(HEALTH, overview.health) ? HEALTH[overview.health] : overview.health;
  const note = count ? format.many(count, "problem") : "no problems";
  const key = `${overview.health} ${note}`;
  if (element.dataset.key === key) return;
  element.dataset.key = key;
  element.className = `panel health ${overview.health}`;
  replace(element, sign(overview.health), el("div", {}, el("strong", {}, word), el("p", { class: "tile-note" }, note)));
}

/** Show problems, the worst first: each keeps its link while its words change, so that it can be clicked. */
function problemList() {
  const element = el("ul", { class: "problems" });
  let lines = new Map();
  return {
    element,
    set(problems) {
      const before = lines;
      lines = new Map();
      for (const problem of problems) {
        const key = unused(lines, `${problem.level} ${path(problem.page, problem.name)}`);
        lines.set(key, before.get(key) ?? problemLine(problem));
        text(lines.get(key).words, problem.text);
      }
      keep(element, [...lines.values()].map((line) => line.element));
    },
  };
}

/** Return the key, or one like it that is not taken: a page may have several problems. */
function unused(taken, key) {
  let free = key;
  for (let number = 2; taken.has(free); number += 1) free = `${key} ${number}`;
  return free;
}

function problemLine({ level, page, name }) {
  const words = el("span");
  return { words, element: el("li", { class: level }, link(path(page, name), [sign(level), words, el("span", { class: "go", "aria-hidden": "true" }, "→")])) };
}

function numbers(tiles, overview) {
  const all = stages();
  const running = all.filter((stage) => stage.state === "running").length;
  const slow = all.filter((stage) => ["warning", "bad"].includes(pressure(stage).level)).length;
  tiles.Throughput.set(format.rate(overview.throughput), "over all queries");
  tiles.Lag.set(format.count(overview.lag), overview.lag ? "events not read yet" : "all is read");
  tiles.Queries.set(`${running} of ${all.length}`, !all.length ? "no program runs" : slow ? `${slow} under pressure` : "run as they should");
  tiles["Firing alerts"].set(format.count(overview.firing), overview.firing ? "see what they say" : "all is calm");
}

const PAGES = { Throughput: "topology", Lag: "queries", Queries: "queries", "Firing alerts": "alerts" };

function tile(name) {
  const value = el("span", { class: "tile-value" });
  const note = el("span", { class: "tile-note" });
  const element = link(PAGES[name], [el("span", { class: "tile-label" }, name), value, note], { class: "tile" });
  return { element, set: (told, small) => (text(value, told), text(note, small)) };
}

async function firing(panel, list, signal) {
  if (!live.overview?.firing) return (panel.hidden = true);
  const { current } = await get("alerts", {}, signal);
  panel.hidden = !current.length;
  replace(list, alike(current).slice(0, SHOWN).map((alerts) => alertLine(alerts)));
}

/** Return alerts in groups of one program, rule and severity, in their order. */
function alike(alerts) {
  const groups = new Map();
  for (const alert of alerts) {
    const key = JSON.stringify([alert.program, alert.rule, alert.severity]);
    groups.set(key, [...(groups.get(key) ?? []), alert]);
  }
  return [...groups.values()];
}

function alertLine([alert, ...others]) {
  const said = alert.message || alert.rule;
  const told = others.length ? `${alert.rule}: ${format.count(others.length + 1)} alerts, such as: ${said}` : said;
  return el("li", {}, badge(severity(alert.severity), alert.severity), el("span", { class: "alert-text" }, told), el("span", { class: "quiet-text" }, format.ago(alert.since)));
}
