// Dead letters: events that could not be handled, with the reason; replayed as they were, or mended.

import { get, post } from "../api.js";
import { attempt, confirm, dialog, toast } from "../dialog.js";
import { button, el, link, path, replace, text } from "../dom.js";
import * as format from "../format.js";
import { valueElement, valueText, whole } from "../json.js";
import { empty, poll, waiting } from "../poll.js";
import { go } from "../router.js";
import { badge } from "../status.js";
import { table } from "../table.js";

const PAGE = 50; // letters of one answer
const COLUMNS = [
  { name: "topic", label: "Dead letters of", value: (t) => t.source ?? t.topic, cell: (t) => link(path("dead-letters", t.topic), t.source ?? t.topic), once: true, class: "name" },
  { name: "events", label: "Letters", value: (t) => t.events, cell: (t) => format.count(t.events), number: true },
  { name: "newest", label: "Newest", value: (t) => t.newest ?? "", cell: (t) => (t.newest ? format.ago(t.newest) : "–"), number: true },
  { name: "own", label: "Topic", value: (t) => t.topic, cell: (t) => t.topic, wide: true },
];

/** Show all topics of dead letters, or the letters of one. */
export async function show(element, { name, signal }) {
  return name ? one(element, name, signal) : all(element, signal);
}

async function all(element, signal) {
  const list = table({ columns: COLUMNS, key: (t) => t.topic, label: "Topics of dead letters", sort: "-newest", pick: (t) => go(path("dead-letters", t.topic)) });
  const holder = el("div", { class: "panel flush" });
  element.append(el("h1", {}, "Dead letters"), waiting(holder));
  await poll(3, async () => {
    const topics = await get("dead-letters", {}, signal);
    if (!topics.length) return replace(holder, empty("No dead letters", "Events that a program or a consumer cannot handle would be here, with the reason. There are none."));
    if (holder.firstChild !== list.element) replace(holder, list.element);
    list.set(topics);
  }, signal);
}

const placeOf = (letter) => `${letter.partition}:${letter.offset}`;

async function one(element, name, signal) {
  const at = `dead-letters/${encodeURIComponent(name)}`;
  const list = el("div", { class: "letters" });
  const every = el("input", { type: "checkbox", id: "every", disabled: true });
  const replay = button("Replay the chosen", () => many(), { disabled: true });
  const older = button("Older ones", attempt(() => load(true)), { class: "small", hidden: true });
  const fresh = button("Look again", attempt(() => load(false)), { class: "quiet" });
  element.append(
    el("p", { class: "crumb" }, link("dead-letters", "Dead letters")),
    el("h1", { class: "mono" }, name),
    el("p", { class: "quiet-text" }, "To replay sends an event again to the topic it came from; the letter stays here, marked."),
    el("div", { class: "tools" }, el("label", { class: "check" }, every, "All that are shown"), replay, fresh),
    waiting(list),
    older,
  );
  const shown = new Map();
  let before = null;

  async function load(further) {
    const told = await get(at, { before: further ? before : null, limit: PAGE }, signal);
    if (!further) {
      shown.clear();
      replace(list);
    }
    for (const letter of told.letters) {
      const card = letterCard(letter, { changed: count, replay: () => single(letter), mend: () => mend(letter) });
      shown.set(placeOf(letter), card);
      list.append(card.element);
    }
    before = JSON.stringify(told.before);
    older.hidden = !told.more;
    if (!shown.size) replace(list, el("div", { class: "panel" }, empty("No letters", "Nothing lies here any more.")));
    count();
  }

  function chosen() {
    return [...shown.values()].filter((card) => card.box.checked);
  }

  function count() {
    const number = chosen().length;
    replay.disabled = !number;
    every.disabled = !shown.size;
    text(replay, number ? `Replay ${format.many(number, "letter")}` : "Replay the chosen");
    every.checked = number > 0 && number === shown.size;
    every.indeterminate = number > 0 && number < shown.size;
  }

  async function send(letters, value) {
    const places = letters.map(({ partition, offset }) => ({ partition, offset }));
    const again = letters.some((letter) => letter.replayed);
    const body = { places, ...(value === undefined ? {} : { value }), ...(again ? { again } : {}) };
    const { replayed } = await post(`${at}/replay`, body);
    for (const letter of letters) {
      letter.replayed = true;
      shown.get(placeOf(letter))?.mark();
    }
    toast(`${format.many(replayed, "event")} replayed.`);
    count();
    return true;
  }

  function single(letter) {
    return confirm("Replay this letter?", `It is sent ${letter.replayed ? "once more" : "again"} to ${sourceOf(letter)}, as it was.${repeated([letter])}`, "Replay", () => send([letter]));
  }

  function many() {
    const letters = chosen().map((card) => card.letter);
    return confirm("Replay these letters?", `${format.many(letters.length, "event is", "events are")} sent again to where they came from, unchanged.${repeated(letters)}`, "Replay", () => send(letters));
  }

  async function mend(given) {
    let letter = given;
    try {
      if (given.cut) letter = { ...given, ...(await whole(name, given, signal)) };
    } catch (error) {
      return toast(error.message, "bad");
    }
    const field = el("textarea", { id: "mended", rows: "12", spellcheck: "false", class: "mono" });
    field.value = valueText(letter);
    const hint = el("p", { class: "quiet-text", role: "status" });
    const look = () => text(hint, json(field.value) ? "This is JSON." : "This is not JSON; it is sent as it is.");
    field.addEventListener("input", look);
    look();
    const content = [el("p", {}, reasonOf(letter)), el("label", { for: "mended" }, `Value to send to ${sourceOf(letter)}`), field, hint];
    return dialog("Mend and replay", content, [{ label: "Cancel" }, { label: "Replay", run: () => send([given], field.value) }]);
  }

  every.addEventListener("change", () => {
    for (const card of shown.values()) card.box.checked = every.checked;
    count();
  });
  await load(false);
}

function json(value) {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

function sourceOf(letter) {
  return letter.source?.topic ?? "its topic";
}

function repeated(letters) {
  const done = letters.filter((letter) => letter.replayed).length;
  if (!done) return "";
  return letters.length === 1 ? " It was replayed before." : ` ${format.many(done, "of them was", "of them were")} replayed before.`;
}

function reasonOf(letter) {
  return letter.reason || "No reason was noted.";
}

function letterCard(letter, { changed, replay, mend }) {
  const box = el("input", { type: "checkbox", "aria-label": `Choose the letter ${placeOf(letter)}`, on: { change: changed } });
  const state = el("span", {}, letter.replayed ? badge("good", "replayed") : null);
  const from = letter.source?.topic ? `from ${letter.source.topic} ${letter.source.partition}:${letter.source.offset}` : "";
  const key = letter.key === null || letter.key === undefined ? "no key" : `key ${format.line(letter.key, 80)}`;
  const element = el(
    "article",
    { class: "panel letter" },
    el("header", {}, box, el("strong", { class: "reason" }, reasonOf(letter)), state),
    el("p", { class: "quiet-text small-text" }, [format.moment(letter.time), key, from].filter(Boolean).join(" · ")),
    el("details", { open: true }, el("summary", {}, "Value"), valueElement(letter)),
    el("div", { class: "actions" }, button("Replay", replay, { class: "small" }), button("Mend and replay", mend, { class: "quiet small" })),
  );
  return {
    element,
    box,
    letter,
    mark() {
      replace(state, badge("good", "replayed"));
      box.checked = false;
    },
  };
}
