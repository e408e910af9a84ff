// One topic: its events as they come, paused and resumed without a loss, and searched.

import { get } from "../api.js";
import { button, el, link, replace, text } from "../dom.js";
import { eventDetail } from "../eventdetail.js";
import { EventList } from "../eventlist.js";
import * as format from "../format.js";
import { onKey } from "../keys.js";
import { waiting } from "../poll.js";
import { searchForm } from "../search.js";
import { badge } from "../status.js";
import { Tail } from "../tail.js";

const NONE = "What is sent to the topic appears here.";

/** Show a topic. */
export async function show(element, { name, query, signal }) {
  const facts = el("p", { class: "quiet-text" });
  const bar = el("div", { class: "tail-bar" });
  const detail = el("aside", { class: "panel detail", "aria-label": "The chosen event", hidden: true });
  const holder = el("div", { class: "panel flush tail" });
  element.append(
    el("p", { class: "crumb" }, link("topics", "Topics")),
    el("h1", { class: "mono" }, name),
    facts,
  );
  waiting(holder);
  const close = () => {
    detail.hidden = true;
    list.release();
    list.view.focus();
  };
  let listed = null;
  let reading = false; // whether the tail is paused only because somebody reads older events
  const tail = new Tail(name, () => changed(), signal);
  const list = new EventList(tail.ring, { none: NONE, onOpen: (event) => eventDetail(detail, name, event, close), onAway: (away) => read(away) }, signal);
  const knob = button("Pause", () => turn(), { class: "main", "aria-keyshortcuts": "p" });
  const state = el("span", { class: "tail-state", role: "status" });
  const numbers = el("span", { class: "tail-numbers" });
  replace(bar, knob, state, numbers);

  function read(away) {
    if (listed || (away ? tail.paused : !reading)) return;
    reading = away;
    away ? tail.pause() : tail.resume();
  }

  function turn() {
    reading = false;
    if (!tail.paused) return tail.pause();
    tail.resume();
    list.toTop();
  }

  const form = searchForm(name, query, signal, (found) => {
    read(false);
    listed = found;
    bar.hidden = Boolean(found);
    detail.hidden = true;
    found ? list.use(found.ring, "No event fits.") : list.use(tail.ring, NONE);
  });
  element.append(form, bar, el("div", { class: "tail-area" }, holder, detail));
  onKey("Escape", "Close the event", () => (detail.hidden ? list.toTop() : close()), signal);
  onKey("p", "Pause and resume the tail", () => knob.click(), signal);

  const told = describe(state, numbers, knob);
  let timer = 0;
  function changed() {
    if (!listed) list.hold(reading ? tail.waiting : 0);
    timer ||= setTimeout(() => ((timer = 0), told(tail, reading)), 250);
  }
  signal.addEventListener("abort", () => clearTimeout(timer));

  const about = await get(`topics/${encodeURIComponent(name)}`, {}, signal);
  text(facts, summary(about));
  await tail.start(about);
  replace(holder, list.element);
}

function summary(topic) {
  const parts = [format.many(topic.partitions, "partition"), format.many(topic.events, "event")];
  if (topic.bytes) parts.push(format.bytes(topic.bytes));
  if (topic.compacted) parts.push("compacted: the last event of each key is kept");
  return parts.join(" · ");
}

/** Return what shows how the tail goes: its state, counts, and rate over the last seconds. */
function describe(state, numbers, knob) {
  const seen = [];
  return (tail, reading) => {
    const now = performance.now();
    seen.push([now, tail.received + tail.waiting]);
    while (seen.length > 2 && now - seen[0][0] > 3000) seen.shift();
    const [before, first] = seen[0];
    const rate = now - before > 500 ? ((tail.received + tail.waiting - first) / (now - before)) * 1000 : 0;
    text(knob, tail.paused ? "Resume" : "Pause");
    const [level, word] = tail.paused ? ["warning", reading ? "Paused while you read" : "Paused"] : tail.state === "open" ? ["good", "Live"] : ["bad", tail.reason || "Connecting…"];
    if (state.textContent !== word) replace(state, badge(level, word));
    const waits = tail.paused ? `${format.many(tail.waiting, "event")} waiting · ` : "";
    const gone = tail.missed ? ` · ${format.count(tail.missed)} deleted by the topic before they could be read` : "";
    text(numbers, `${waits}${format.count(tail.received)} received · ${format.rate(Math.max(0, rate))} · the last ${format.count(tail.ring.length)} kept${gone}`);
  };
}
