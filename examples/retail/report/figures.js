// What the report knows: revenue by minute, and the latest of everything else. Nothing here draws.

const MINUTE = 60;
const DAY = 1440; // minutes
export const KEPT = 5; // minutes of shops and products
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
  low = []; // alerts of what runs low, the newest first
  rewarded = 0; // since the page was opened
  suspected = 0;
  complete = false; // whether all minutes that are kept were read, also those before the page was opened

  /** Take in events of the topics, in their order; those that are past are shown, but do not count as new. */
  take(events, past) {
    const count = past ? 0 : 1;
    for (const { topic, value, tombstone } of events) {
      if (tombstone || !value) continue;
      if (topic === "revenue") {
        this.revenue(value, true);
      } else if (topic === "rewards") {
        latest(this.rewards, value);
        this.rewarded += count;
      } else if (topic === "fraud") {
        latest(this.frauds, value);
        this.suspected += count;
      }
    }
  }

  /** Take in a row of the table of revenue; what an event has told is newer than what was read in the table. */
  revenue({ dimension, name, window_start, cents, sales }, told = false) {
    const minute = minuteOf(window_start);
    if (dimension === "total") {
      put(this.totals, minute, { cents, sales, told });
      this.newest = Math.max(this.newest, minute);
      for (const old of this.totals.size > LONGEST ? this.totals.keys() : []) if (old < this.newest - LONGEST * MINUTE) this.totals.delete(old);
      return;
    }
    const known = dimension === "shop" ? this.shops : this.products;
    if (minute <= this.newest - KEPT * MINUTE) return;
    if (!known.has(minute)) known.set(minute, new Map());
    put(known.get(minute), name, { cents, sales, told });
    for (const old of known.keys()) if (old <= this.newest - KEPT * MINUTE) known.delete(old);
  }

  /** Take in all alerts that fire. */
  alerts(current) {
    this.low = current.filter(({ rule }) => rule === "low-stock").sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
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
    return [...sums.values()].sort((one, other) => other.cents - one.cents || (one.name < other.name ? -1 : 1));
  }
}

function latest(rows, row) {
  rows.unshift(row);
  rows.length = Math.min(rows.length, LATEST);
}

function put(rows, key, row) {
  if (row.told || !rows.get(key)?.told) rows.set(key, row);
}
