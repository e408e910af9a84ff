// What the server tells each second, for all pages: the overview, the programs, and a short memory of both.

import { get, onToken } from "./api.js";
import { now, setClock } from "./format.js";
import { follow } from "./sse.js";
import { Trace } from "./trace.js";

const SILENCE = 6000; // milliseconds without a word until the connection counts as lost
const HIDDEN = 20_000; // milliseconds between two looks while nobody looks: a hidden tab holds no connection

const events = new EventTarget();
const traces = new Map();
const whole = new Trace();
let topologies = new Map();
let asked = "";
let opened = null;
let state = "connecting";
let reason = "";

/** What is known now; null until the first word. */
export const live = { overview: null, programs: null };

/** Return how the connection is, `connecting`, `open`, `lost` or `refused`, and why it is not open. */
export function connection() {
  return { state, reason };
}

/** Call back on `state` (each second), `connection` (when that changes), `topology` (when programs change). */
export function onLive(kind, listener, signal) {
  events.addEventListener(kind, () => listener(), { signal });
}

/** Call back now, if something is known, and on every word from the server. */
export function watch(listener, signal) {
  if (live.overview) listener();
  onLive("state", listener, signal);
}

/** Return the statuses of all stages. */
export function stages() {
  return (live.programs ?? []).flatMap((program) => program.stages);
}

/** Return what is remembered of a query, or of everything. */
export function trace(name = "") {
  return name ? traceOf(name) : whole;
}

function traceOf(name) {
  if (!traces.has(name)) traces.set(name, new Trace());
  return traces.get(name);
}

/** Learn what the server remembers of a query from before this page was opened; once. */
export async function recall(name, signal) {
  const own = traceOf(name);
  if (own.recalled) return;
  own.recalled = true;
  try {
    const told = await get(`history/${encodeURIComponent(name)}`, {}, signal);
    own.before(told.t, told.rate, told.lag);
  } catch {
    own.recalled = false;
  }
}

/** Learn what the server remembers of all queries together; once. */
export async function recallAll(signal) {
  if (whole.recalled) return;
  whole.recalled = true;
  const sums = new Map();
  try {
    const told = await Promise.all(stages().map((stage) => get(`history/${encodeURIComponent(stage.name)}`, {}, signal)));
    for (const one of told) one.t.forEach((t, number) => add(sums, Math.floor(t), one.rate[number], one.lag[number]));
  } catch {
    whole.recalled = false;
  }
  const t = [...sums.keys()].sort((a, b) => a - b);
  whole.before(t, t.map((second) => sums.get(second).rate), t.map((second) => sums.get(second).lag));
}

function add(sums, t, rate, lag) {
  const sum = sums.get(t) ?? { rate: 0, lag: 0 };
  sums.set(t, { rate: sum.rate + rate, lag: sum.lag + lag });
}

/** Return the described topologies, `{program, version, stages}` each, of the programs that run. */
export function described() {
  return [...topologies.values()];
}

/** Begin to listen. */
export function start() {
  open();
  onToken("token", () => (close(), open()));
  let timer = 0;
  document.addEventListener("visibilitychange", () => {
    clearInterval(timer);
    if (document.hidden) {
      close();
      timer = setInterval(glance, HIDDEN);
    } else open();
  });
}

function open() {
  if (opened) return;
  opened = new AbortController();
  follow(() => "/api/live", { onEvent: take, onState: turn, signal: opened.signal, silence: SILENCE });
}

function close() {
  opened?.abort();
  opened = null;
}

async function glance() {
  try {
    const overview = await get("overview");
    if (document.hidden) take("state", { overview, programs: live.programs });
  } catch {
    // when somebody looks again, the stream will tell
  }
}

function turn(next, error) {
  if (next === state) return;
  state = next;
  reason = error?.message ?? "";
  events.dispatchEvent(new Event("connection"));
}

function take(name, told) {
  if (name !== "state") return;
  turn("open");
  live.overview = told.overview;
  live.programs = told.programs ?? live.programs;
  setClock(told.overview?.now);
  remember();
  ask();
  events.dispatchEvent(new Event("state"));
}

function remember() {
  const t = Math.floor(now() / 1000);
  whole.add(t, live.overview.throughput ?? 0, live.overview.lag ?? 0);
  for (const stage of stages()) traceOf(stage.name).add(t, stage.rate ?? 0, stage.lag ?? 0);
}

/** Ask for topologies, which the stream leaves out, when other programs run than before. */
async function ask() {
  const key = (live.programs ?? []).map((program) => `${program.program} ${program.version} ${program.started}`).join("\n");
  if (key === asked) return;
  asked = key;
  try {
    const told = await get("programs");
    topologies = new Map(told.filter((one) => one.topology).map((one) => [`${one.program} ${one.version}`, one.topology]));
    events.dispatchEvent(new Event("topology"));
  } catch {
    asked = "";
  }
}
