// What the report knows: revenue by minute, and the latest of everything else. Nothing here draws.

const MINUTE = 60;
const DAY = 1440; // minutes
const KEPT = 5; // minutes of shops and products
const LATEST = 12; // rewards and suspicions shown
const SPAN = 90; // minutes of the chart
const LONGEST = DAY + 2 * SPAN; // minutes of totals

/** Return the minute of a time, in seconds since 1970. */
const minuteOf = (iso) => Math.floor(Date.parse(iso) / (MINUTE * 1000)) * MINUTE;

export class Figures {
  totals = new Map(); // cents and sales by minute
  newest = 0; // minute there is
  shops = new Map(); // by minute: cents by name
  products = new Map();
  rewards = [];
  frauds = [];
  low = new Map(); // by key: what runs low
  rewarded = 0; // since the page was opened
  suspected = 0;

  /** Take in events of the topics, in their order. */
  take(events) {
    for (const { topic, value, tombstone } of events) {
      if (tombstone || !value) continue;
      if (topic === "revenue") this.revenue(value);
      else if (topic === "rewards") this.rewarded += latest(this.rewards, value);
      else if (topic === "fraud") this.suspected += latest(this.frauds, value);
      else if (topic === "alerts" && value.rule === "low-stock") this.alert(value);
    }
  }

  /** Take in a row of the table of revenue. */
  revenue({ dimension, name, window_start, cents, sales }) {
    const minute = minuteOf(window_start);
    if (dimension === "total") {
      this.totals.set(minute, { cents, sales });
      this.newest = Math.max(this.newest, minute);
      for (const old of this.totals.size > LONGEST ? this.totals.keys() : []) if (old < this.newest - LONGEST * MINUTE) this.totals.delete(old);
      return;
    }
    const known = dimension === "shop" ? this.shops : this.products;
    if (minute <= this.newest - KEPT * MINUTE) return;
    if (!known.has(minute)) known.set(minute, new Map());
    known.get(minute).set(name, { cents, sales });
    for (const old of known.keys()) if (old <= this.newest - KEPT * MINUTE) known.delete(old);
  }

  alert({ key, state, message, row, at }) {
    const name = JSON.stringify(key);
    this.low.delete(name);
    if (state === "firing") this.low.set(name, { message, row, at });
  }

  /** Return the columns of the chart: minutes that are over, and the revenue in each, an hour and a day before. */
  get chart() {
    const newest = this.newest - MINUTE;
    const minutes = [];
    for (let minute = newest - SPAN * MINUTE; minute <= newest; minute += MINUTE) {
      if (minutes.length || this.totals.has(minute)) minutes.push(minute);
    }
    const euros = (minute) => (this.totals.has(minute) ? this.totals.get(minute).cents / 100 : null);
    const ago = (span) => minutes.map((minute) => euros(minute - span * MINUTE));
    return [minutes, ago(0), ago(60), ago(DAY)];
  }

  /** Return what the minute under way has brought, the one before it, and what that was an hour and a day before. */
  get last() {
    const minute = this.newest - MINUTE;
    const cents = (span) => this.totals.get(minute - span * MINUTE)?.cents;
    const soFar = this.totals.get(this.newest)?.cents;
    return { soFar, cents: cents(0), sales: this.totals.get(minute)?.sales, hour: cents(60), day: cents(DAY) };
  }

  /** Return the names of shops or products with what they brought in the last minutes, the most first. */
  ranking(dimension) {
    const sums = new Map();
    for (const names of (dimension === "shop" ? this.shops : this.products).values()) {
      for (const [name, { cents, sales }] of names) {
        const sum = sums.get(name) ?? { name, cents: 0, sales: 0 };
        sums.set(name, { name, cents: sum.cents + cents, sales: sum.sales + sales });
      }
    }
    return [...sums.values()].sort((one, other) => other.cents - one.cents);
  }
}

function latest(rows, row) {
  rows.unshift(row);
  rows.length = Math.min(rows.length, LATEST);
  return 1;
}
