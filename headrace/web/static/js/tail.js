// A topic as it grows: every event passes here once and in order, also after a pause, a lost connection, or while hidden.

import { address, get } from "./api.js";
import { Ring } from "./ring.js";
import { followSeen } from "./sse.js";

const HELD = 5000; // events kept while paused; later ones stay in the topic and are read on resume
const HELD_BYTES = 16_000_000;
const BEFORE = 100; // older events to begin with
const SILENCE = 20_000; // milliseconds without a word until the connection counts as lost
const LOOK = 2000; // milliseconds between two looks at the ends of a topic that is paused and full

/** Follow a topic. `onChange()` is called when something has come or changed; `ring` has what to show. */
export class Tail {
  ring = new Ring();
  received = 0; // events of the tail that went into the ring
  waiting = 0; // that have come since the pause
  missed = 0; // that the topic deleted before they could be read
  paused = false;
  state = "connecting";
  reason = "";
  #topic;
  #onChange;
  #signal;
  #next = {};
  #held = [];
  #heldBytes = 0;
  #full = false;
  #stream = null;
  #timer = 0;

  constructor(topic, onChange, signal) {
    this.#topic = encodeURIComponent(topic);
    this.#onChange = onChange;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#close());
  }

  /** Load the newest events, then follow from exactly where the described topic ended. */
  async start(described) {
    this.#next = ends(described);
    const { events } = await get(`topics/${this.#topic}/events`, { limit: BEFORE }, this.#signal);
    for (const event of events) if (event.offset < (this.#next[event.partition] ?? 0)) this.ring.push(event);
    this.#onChange();
    this.#open();
  }

  /** Hold back what comes from now on. */
  pause() {
    this.paused = true;
    this.#onChange();
  }

  /** Show what was held back, and go on from there. */
  resume() {
    this.paused = false;
    for (const event of this.#held) this.#show(event);
    this.#held = [];
    this.#heldBytes = this.waiting = 0;
    if (this.#full) this.#open();
    this.#full = false;
    this.#onChange();
  }

  #open() {
    this.#close();
    this.#stream = new AbortController();
    const url = () => address(`topics/${this.#topic}/tail`, { from: JSON.stringify(this.#next) });
    const onState = (state, error) => {
      this.state = state;
      this.reason = error?.message ?? "";
      this.#onChange();
    };
    followSeen(url, { onEvent: (name, told) => this.#take(name, told), onState, signal: this.#stream.signal, silence: SILENCE });
  }

  #close() {
    clearTimeout(this.#timer);
    this.#stream?.abort();
    this.#stream = null;
  }

  #take(name, told) {
    if (name === "error") return this.#failed(told.error);
    if (name !== "events" || this.#full) return;
    this.missed += told.missed ?? 0;
    for (const event of told.events) this.paused ? this.#hold(event) : this.#show(event);
    Object.assign(this.#next, told.next);
    if (this.#held.length >= HELD || this.#heldBytes >= HELD_BYTES) this.#fill();
    this.#onChange();
  }

  #failed(reason) {
    this.state = "lost";
    this.reason = reason;
    this.#onChange();
  }

  #show(event) {
    this.ring.push(event);
    this.received += 1;
  }

  #hold(event) {
    this.#held.push(event);
    this.#heldBytes += event.size ?? 0;
    this.waiting += 1;
  }

  /** Let the rest wait in the topic, and only count it. */
  #fill() {
    this.#full = true;
    this.#close();
    const held = this.#held; // another array once somebody has resumed
    const look = async () => {
      try {
        const now = ends(await get(`topics/${this.#topic}`, {}, this.#signal));
        const more = Object.entries(now).map(([partition, end]) => Math.max(0, end - (this.#next[partition] ?? 0)));
        if (held === this.#held) this.waiting = held.length + more.reduce((sum, count) => sum + count, 0);
        this.#onChange();
      } catch {
        // counted when the server is back
      }
      if (held === this.#held && !this.#signal.aborted) this.#timer = setTimeout(look, LOOK);
    };
    this.#timer = setTimeout(look, LOOK);
  }
}

function ends(described) {
  return Object.fromEntries(described.offsets.map((place) => [place.partition, place.latest]));
}
