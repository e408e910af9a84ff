// A long list of events of which only what is in sight exists: a fixed number of rows, used again and again.

import { el, text } from "./dom.js";
import * as format from "./format.js";

const ROW = 28; // pixels; the style sheet has the same
const PERIOD = 250; // milliseconds between two drawings while events rush in

/**
 * Show the events of a ring, the newest on top. `onOpen(event)` when one is chosen; `onAway(away)` when the reader leaves
 * the newest, by scrolling or by choosing one, and when they come back: until then what comes is to be held back.
 * `none` is said while there is no event.
 */
export class EventList {
  #ring;
  #onOpen;
  #onAway;
  #away = false;
  #held = 0;
  #rows = [];
  #top = 0; // the number after the newest event shown
  #chosen = -1;
  #drawn = 0;
  #timer = 0;

  constructor(ring, { none, onOpen, onAway }, signal) {
    this.#ring = ring;
    this.#onOpen = onOpen;
    this.#onAway = onAway;
    this.space = el("div", { class: "events-space" });
    this.view = el("div", { class: "events-view", tabindex: "0", role: "listbox", "aria-label": "Events, the newest first" }, this.space);
    this.none = el("p", { class: "quiet-text none", hidden: true }, none);
    this.newer = el("button", { type: "button", class: "newer", hidden: true, on: { click: () => this.toTop() } });
    this.element = el("div", { class: "events" }, header(), this.view, this.none, this.newer);
    this.view.addEventListener("scroll", () => this.#soon(), { passive: true });
    this.view.addEventListener("keydown", (event) => this.#key(event));
    this.space.addEventListener("click", (event) => this.#click(event));
    const sizes = new ResizeObserver(() => this.#fit());
    sizes.observe(this.view);
    signal.addEventListener("abort", () => (sizes.disconnect(), clearTimeout(this.#timer)));
  }

  /** Use another ring, from its newest event, and say `none` where it has none. */
  use(ring, none) {
    this.#ring = ring;
    text(this.none, none);
    this.#chosen = -1;
    this.toTop();
  }

  /** Draw before long: at most once in a while, however often it is asked. */
  changed() {
    if (this.#timer) return;
    const pause = Math.max(0, this.#drawn + PERIOD - performance.now());
    this.#timer = setTimeout(() => requestAnimationFrame(() => this.#draw()), pause);
  }

  /** Say how many events are held back until the reader is at the newest again. */
  hold(count) {
    this.#held = count;
    this.changed();
  }

  /** Choose no event any more. */
  release() {
    this.#chosen = -1;
    this.#draw();
  }

  toTop() {
    this.view.scrollTop = 0;
    this.release();
  }

  /** Whether new events appear at the top, or the reader stays with older ones. */
  get follows() {
    return this.view.scrollTop < ROW / 2 && this.#chosen < 0;
  }

  #soon() {
    requestAnimationFrame(() => this.#draw());
  }

  #fit() {
    const wanted = Math.ceil(this.view.clientHeight / ROW) + 2;
    while (this.#rows.length < wanted) this.#rows.push(row(this.space, this.#rows.length));
    while (this.#rows.length > wanted) this.#rows.pop().remove();
    this.#draw();
  }

  #draw() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#drawn = performance.now();
    if (this.#away !== !this.follows) this.#onAway((this.#away = !this.follows));
    if (this.follows) this.#top = this.#ring.next;
    const count = Math.max(0, this.#top - this.#ring.first);
    const height = `${count * ROW}px`;
    if (this.space.style.height !== height) this.space.style.height = height;
    const from = Math.max(0, Math.floor(this.view.scrollTop / ROW));
    this.#rows.forEach((line, number) => this.#place(line, from + number, count));
    this.none.hidden = count > 0;
    const missed = this.#ring.next - this.#top + this.#held;
    this.newer.hidden = missed <= 0;
    if (missed > 0) text(this.newer, `${format.many(missed, "newer event")} ↑`);
  }

  #place(line, index, count) {
    const number = this.#top - 1 - index;
    const event = index < count ? this.#ring.at(number) : undefined;
    if (line.hidden !== !event) line.hidden = !event;
    if (!event) return;
    if (line.index !== index) {
      line.index = index;
      line.style.transform = `translateY(${index * ROW}px)`;
    }
    const chosen = number === this.#chosen;
    if (line.chosen !== chosen) {
      line.chosen = chosen;
      line.setAttribute("aria-selected", String(chosen));
      if (chosen) this.view.setAttribute("aria-activedescendant", line.id);
    }
    if (line.event === event) return;
    line.event = event;
    const [time, place, key, value] = line.cells;
    time.data = format.clock(event.time, true);
    place.data = `${event.partition}:${event.offset}`;
    key.data = event.key === null || event.key === undefined ? "–" : format.line(event.key, 60);
    value.data = event.tombstone ? "deleted" : format.line(event.text ?? event.value, 240);
    line.classList.toggle("tombstone", Boolean(event.tombstone));
  }

  #click(event) {
    const line = event.target.closest(".event");
    if (line?.event) this.#choose(this.#top - 1 - line.index);
  }

  #choose(number) {
    this.#chosen = Math.min(Math.max(number, this.#ring.first), this.#top - 1);
    const at = (this.#top - 1 - this.#chosen) * ROW;
    if (at < this.view.scrollTop) this.view.scrollTop = at;
    else if (at + ROW > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = at + ROW - this.view.clientHeight;
    this.#draw();
    const event = this.#ring.at(this.#chosen);
    if (event) this.#onOpen(event);
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.view.clientHeight / ROW) - 1);
    const steps = { ArrowDown: -1, ArrowUp: 1, PageDown: -page, PageUp: page };
    if (event.key === "Home") this.toTop();
    else if (event.key in steps) this.#choose(this.#chosen < 0 ? this.#top - 1 : this.#chosen + steps[event.key]);
    else return;
    event.preventDefault();
  }
}

function header() {
  const names = ["Time", "Place", "Key", "Value"];
  return el("div", { class: "event events-head", "aria-hidden": "true" }, names.map((name) => el("span", {}, name)));
}

/** Make a row whose cells are text nodes: to change one costs next to nothing. */
function row(parent, number) {
  const cells = ["time", "place", "key", "value"].map(() => document.createTextNode(""));
  const spans = cells.map((cell) => el("span", {}, cell));
  const line = el("div", { class: "event", id: `event-${number}`, role: "option", hidden: true }, spans);
  line.cells = cells;
  parent.append(line);
  return line;
}
