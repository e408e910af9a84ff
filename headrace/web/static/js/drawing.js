// The picture of a topology: topics as pills, queries as boxes, arrows with rates.

import { attribute, path, svg, text } from "./dom.js";
import * as format from "./format.js";
import { arrange } from "./layout.js";
import { pressure, sign, watermark } from "./status.js";

const STAGE = { width: 180, height: 66 };
const PILL = { height: 30, least: 96, most: 210 };
const LETTER = 7.6; // pixels that a letter of a name takes
const EDGE = 24; // around the picture
const READABLE = 0.68; // of its real size is as small as the picture may become; then it scrolls
const LONGEST = 26; // letters of a name that are shown

/** Draw described programs; `update(stages, rates)` puts numbers into it, `flows` tells what each query reads and writes. */
export function draw(programs) {
  const { nodes, edges, flows } = graph(programs);
  const { width, height } = arrange(nodes, edges);
  const arrows = edges.map((edge) => arrow(edge));
  const boxes = [...nodes.values()].map((node) => (node.kind === "stage" ? stageBox(node) : pill(node)));
  const size = { w: width + 2 * EDGE, h: height + 2 * EDGE };
  const tip = svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }));
  const element = svg(
    "svg",
    { class: "topology", viewBox: `${-EDGE} ${-EDGE} ${size.w} ${size.h}`, width: size.w, height: size.h },
    svg("title", {}, "What reads and writes what"),
    svg("defs", {}, tip),
    svg("g", {}, arrows.map((one) => one.line)),
    svg("g", {}, boxes.map((one) => one.element)),
    svg("g", {}, arrows.map((one) => one.label)),
  );
  element.style.minWidth = `${Math.round(size.w * READABLE)}px`;
  const update = (stages, rates) => {
    const known = new Map(stages.map((stage) => [stage.name, stage]));
    for (const box of boxes) box.update(known, rates);
    for (const one of arrows) one.update(known, rates);
  };
  return { element, update, flows };
}

/** Return the nodes by key, the edges between them, and for each query what it reads and writes. */
function graph(programs) {
  const nodes = new Map();
  const edges = [];
  const flows = new Map();
  const place = (kind, name) => {
    const key = `${kind} ${name}`;
    const width = Math.min(PILL.most, Math.max(PILL.least, Math.min(name.length, LONGEST) * LETTER + 34));
    if (!nodes.has(key)) nodes.set(key, { key, kind, name, width, height: PILL.height });
    return nodes.get(key);
  };
  for (const program of programs) {
    for (const stage of program.stages) {
      const name = `${program.program}.${stage.name}`;
      const node = { key: `stage ${name}`, kind: "stage", name, program: program.program, stage: stage.name, ...STAGE };
      nodes.set(node.key, node);
      flows.set(name, { reads: stage.reads, writes: stage.writes, kind: stage.kind });
      for (const topic of new Set(stage.reads)) edges.push({ from: place("topic", topic), to: node, topic, query: name, reads: true, alone: stage.reads.length === 1 });
      edges.push({ from: node, to: place(stage.kind, stage.writes), topic: stage.kind === "topic" ? stage.writes : null, query: name, reads: false });
    }
  }
  return { nodes, edges, flows };
}

function short(name, most = LONGEST) {
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}

/** Return a query's name, shortened to so many pixels: letters are not equally wide. */
function fitting(name, width) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `650 14px ${getComputedStyle(document.body).fontFamily}`; // as .node-name has it
  let most = name.length;
  while (most > 1 && pen.measureText(short(name, most)).width > width) most -= 1;
  return short(name, most);
}

function last(path) {
  return path.length > LONGEST ? `…${path.slice(1 - LONGEST)}` : path;
}

function pill(node) {
  const label = svg("text", { x: node.x + node.width / 2, y: node.y + 19.5, "text-anchor": "middle" }, node.kind === "files" ? last(node.name) : short(node.name));
  const shape = svg("rect", { x: node.x, y: node.y, width: node.width, height: node.height, rx: node.kind === "files" ? 3 : 15 });
  const group = svg("g", { class: `node ${node.kind}` }, svg("title", {}, node.kind === "files" ? `files in ${node.name}` : `topic ${node.name}`), shape, label);
  const element = node.kind === "files" ? group : svg("a", { href: `#/${path("topics", node.name)}` }, group);
  return { element, update: () => {} };
}

function stageBox(node) {
  const left = node.x + 14;
  const title = svg("title");
  const name = svg("text", { x: left, y: node.y + 21, class: "node-name" }, fitting(node.stage, node.width - 14 - 30));
  const note = svg("text", { x: left, y: node.y + 38, class: "node-note" });
  const numbers = svg("text", { x: left, y: node.y + 56, class: "node-numbers" });
  const mark = svg("g", { transform: `translate(${node.x + node.width - 24} ${node.y + 8})` });
  const shape = svg("rect", { x: node.x, y: node.y, width: node.width, height: node.height, rx: 6 });
  const stripe = svg("rect", { class: "stripe", x: node.x, y: node.y, width: 5, height: node.height, rx: 2.5 });
  const group = svg("g", { class: "node stage" }, title, shape, stripe, name, mark, note, numbers);
  const update = (known) => {
    const stage = known.get(node.name);
    const { level, word } = stage ? pressure(stage) : { level: "off", word: "unknown" };
    if (group.dataset.level !== level) {
      group.dataset.level = level;
      attribute(group, "class", `node stage ${level}`);
      mark.replaceChildren(sign(level));
    }
    text(note, level === "good" ? short(node.program, 24) : short(word, 24));
    const time = stage?.watermark ? ` · mark ${watermark(stage).replace(" ago", "")}` : "";
    text(numbers, stage ? `lag ${format.short(stage.lag ?? 0)}${time}` : "");
    text(title, stage ? `${node.name}: ${word}, lag ${format.count(stage.lag ?? 0)}, watermark ${watermark(stage)}` : node.name);
  };
  return { element: svg("a", { href: `#/${path("queries", node.name)}` }, group), update };
}

function arrow(edge) {
  const line = svg("path", { class: "edge", d: way(edge), "marker-end": "url(#tip)" });
  const label = svg("text", { class: "edge-rate", ...besideStage(edge) });
  const update = (known, rates) => {
    const rate = rateOf(edge, known, rates);
    text(label, rate === null ? "" : format.rate(rate));
    attribute(line, "class", `edge ${rate ? "flows" : ""}`);
  };
  return { line, label, update };
}

/** Return how many events a second pass an edge: what a query with one input takes, otherwise what its topic gets. */
function rateOf(edge, known, rates) {
  const stage = known.get(edge.query);
  if (edge.reads && edge.alone && stage) return stage.rate ?? 0;
  return edge.topic === null ? null : (rates.get(edge.topic) ?? null);
}

function way(edge) {
  const spots = edge.spots;
  let told = `M${spots[0].x} ${spots[0].y}`;
  for (let number = 1; number < spots.length; number += 1) {
    const [a, b] = [spots[number - 1], spots[number]];
    const half = (a.x + b.x) / 2;
    told += a.level ? `H${b.x}` : `C${half} ${a.y} ${half} ${b.y} ${b.x} ${b.y}`;
  }
  return told;
}

/** Return where the rate stands: at the query, where no two edges meet, though many may leave the same topic. */
function besideStage({ spots, reads }) {
  const end = reads ? spots.at(-1) : spots[0];
  return { x: end.x + (reads ? -10 : 6), y: end.y - 5, "text-anchor": reads ? "end" : "start" };
}
