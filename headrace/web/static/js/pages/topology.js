// The topology: topics and queries as a picture, with rates on edges and pressure on nodes.

import { get } from "../api.js";
import { breakable, button, el, link, path, replace, text } from "../dom.js";
import { draw } from "../drawing.js";
import * as format from "../format.js";
import { described, live, onLive, stages, watch } from "../live.js";
import { poll, waiting } from "../poll.js";
import { badge, pressure, watermark } from "../status.js";
import { table } from "../table.js";
import { nothing } from "./queries.js";

/** Show the topology of all programs that run. */
export async function show(element, { signal }) {
  const rates = new Map();
  const view = el("div", { class: "panel flush drawing", tabindex: "0", role: "region", "aria-label": "Topology; the table below tells the same" });
  const fit = button("Real size", () => resize(), { class: "small", "aria-pressed": "false" });
  const list = table({ columns: columns(rates), key: (s) => s.name, label: "What reads and writes what", sort: "name" });
  const rest = el("section", { class: "panel flush" }, el("h2", {}, "The same as a table"), list.element);
  const tools = el("div", { class: "tools" }, legend(), fit);
  element.append(el("h1", {}, "Topology"), tools, waiting(view), rest);
  let picture = null;

  function resize() {
    const real = view.classList.toggle("real");
    fit.setAttribute("aria-pressed", String(real));
    text(fit, real ? "Fit" : "Real size");
  }

  function build() {
    const known = described();
    if (!known.length) {
      picture = null;
      tools.hidden = rest.hidden = true;
      return live.programs && replace(view, live.programs.length ? el("p", { class: "quiet-text waiting" }, "Loading…") : nothing());
    }
    tools.hidden = rest.hidden = false;
    picture = draw(known);
    replace(view, picture.element);
    update();
  }

  function update() {
    if (!picture) return live.programs?.length === 0 && build();
    const all = stages();
    picture.update(all, rates);
    list.set(all.map((stage) => ({ ...stage, flow: picture.flows.get(stage.name) })));
  }

  build();
  onLive("topology", build, signal);
  watch(update, signal);
  await poll(2, async () => {
    const topics = await get("topics", { internal: 1 }, signal);
    rates.clear();
    for (const topic of topics) rates.set(topic.name, topic.rate ?? null);
  }, signal);
}

function legend() {
  const entries = [["good", "keeps up"], ["warning", "5 s behind, or catching up"], ["bad", "1 min behind, or failed"], ["off", "stopped"]];
  return el("ul", { class: "legend", "aria-label": "Pressure" }, entries.map(([level, word]) => el("li", {}, badge(level, word))));
}

function columns(rates) {
  const flows = (topics) => topics.map((topic, number) => [number ? ", " : "", link(path("topics", topic), topic)]);
  const rated = (topic) => (rates.has(topic) && rates.get(topic) !== null ? format.rate(rates.get(topic)) : "–");
  return [
    { name: "state", label: "Pressure", cell: (s) => badge(pressure(s).level, pressure(s).word) },
    { name: "reads", label: "Reads", cell: (s) => el("span", {}, flows(s.flow?.reads ?? [])), once: true, class: "name" },
    { name: "name", label: "Query", value: (s) => s.name, cell: (s) => link(path("queries", s.name), breakable(s.name)), once: true, class: "name" },
    { name: "writes", label: "Writes", cell: (s) => target(s.flow), once: true, class: "name" },
    { name: "out", label: "Rate out", cell: (s) => (s.flow?.kind === "topic" ? rated(s.flow.writes) : "–"), number: true, wide: true },
    { name: "lag", label: "Lag", value: (s) => s.lag, cell: (s) => format.count(s.lag), number: true },
    { name: "watermark", label: "Watermark", cell: watermark, number: true, wide: true },
  ];
}

function target(flow) {
  if (!flow) return "";
  return flow.kind === "files" ? `${flow.writes} (files)` : link(path("topics", flow.writes), flow.writes);
}
