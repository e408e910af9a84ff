// The last events, numbered as they came; the oldest make room when there are too many, or too much.

/** A ring of events. `first` is the number of the oldest that is kept, `next` that of the one to come. */
export class Ring {
  #events;
  #bytes = 0;
  first = 0;
  next = 0;

  constructor(most = 5000, mostBytes = 24_000_000) {
    this.most = most;
    this.mostBytes = mostBytes;
    this.#events = new Array(most);
  }

  get length() {
    return this.next - this.first;
  }

  /** Return the event with a number, or undefined if it is gone or still to come. */
  at(number) {
    return number >= this.first && number < this.next ? this.#events[number % this.most] : undefined;
  }

  push(event) {
    if (this.length === this.most) this.#drop();
    this.#events[this.next % this.most] = event;
    this.next += 1;
    this.#bytes += event.size ?? 0;
    while (this.#bytes > this.mostBytes && this.length > 1) this.#drop();
  }

  #drop() {
    this.#bytes -= this.at(this.first).size ?? 0;
    this.#events[this.first % this.most] = undefined;
    this.first += 1;
  }
}
