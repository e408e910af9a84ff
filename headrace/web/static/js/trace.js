// A short memory of rates and lags.

const KEPT = 900; // seconds
const SPARE = 60; // that are cut off at once

/** Rate and lag over the last quarter of an hour, one of each a second: columns that charts take as they are. */
export class Trace {
  t = [];
  rate = [];
  lag = [];
  recalled = false;

  add(t, rate, lag) {
    if (this.t.length && t <= this.t.at(-1)) return;
    this.t.push(t);
    this.rate.push(rate);
    this.lag.push(lag);
    if (this.t.length > KEPT + SPARE) for (const column of [this.t, this.rate, this.lag]) column.splice(0, SPARE);
  }

  /** Put older values before those that are known. */
  before(t, rate, lag) {
    const known = this.t[0] ?? Infinity;
    const found = t.findIndex((value) => value >= known);
    const until = found < 0 ? t.length : found;
    this.t.unshift(...t.slice(0, until));
    this.rate.unshift(...rate.slice(0, until));
    this.lag.unshift(...lag.slice(0, until));
  }
}
