// The mesh's own page: revenue as it grows, compared with before; products, cities, stock, rewards, suspicions.

import { Figures, KEPT } from "./figures.js";
import { cityOf } from "./cities.js";
import { euros, exactly, feed, map, ranking, tiles } from "./panels.js";

const TOPICS = ["revenue", "rewards", "fraud"];
const LOOK = 2; // seconds between two looks whether the topics are there, or the table has all that was
const STOCK = 3; // seconds between two looks at what runs low
const DRAWN = 250; // milliseconds between two drawings
const CHARTED = 5000; // milliseconds until minutes that are over, which late invoices may still change, are drawn again
const TAIL = 300; // events of each topic to begin with
const ROWS = "select dimension, name, window_start, cents, sales from revenue";
const TOTALS = `${ROWS} where dimension = 'total' order by window_start desc`;
const NEWEST = `select window_start from revenue where dimension = 'total' order by window_start desc limit ${KEPT}`;
const LATELY = `${ROWS} where dimension <> 'total' and window_start in (${NEWEST}) order by window_start desc, dimension, name`;
const MOST = 1000; // rows of one answer
const PAGES = 2; // of them: more than a day

/** Show the report in an element, until the page is left. */
export async function show(element, api) {
  element.classList.add("retail");
  const message = api.el("p", { class: "quiet-text", role: "status" }, "Waiting for the programs…");
  element.append(message);
  await there(api, message);
  if (api.signal.aborted) return;
  const figures = new Figures();
  const later = paced(api, parts(element, api, figures));
  later();
  api.stream(TOPICS, (events, past) => (figures.take(events, past), later()), { start: `tail:${TAIL}` });
  api.every(STOCK, () => stock(api, figures, later));
  await past(api, figures, message, later);
}

/** Return what has everything drawn before long: at most once in a while, and only while somebody looks. */
function paced(api, draw) {
  let due = null;
  let drawn = 0;
  const later = () => {
    due ??= setTimeout(() => {
      due = null;
      drawn = performance.now();
      if (!document.hidden) draw();
    }, Math.max(0, drawn + DRAWN - performance.now()));
  };
  api.signal.addEventListener("abort", () => clearTimeout(due));
  document.addEventListener("visibilitychange", later, { signal: api.signal });
  return later;
}

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

/** Wait until the programs have made their topics. */
async function there(api, message) {
  while (!api.signal.aborted) {
    const names = new Set((await api.get("topics")).map((topic) => topic.name));
    const missing = TOPICS.filter((name) => !names.has(name));
    if (!missing.length) return;
    api.text(message, `Waiting for the programs: there is no topic ${missing.join(", ")} yet.`);
    await pause(LOOK);
  }
}

/** Take in the revenue of the past from the table, again and again until the table has all of it. */
async function past(api, figures, message, later) {
  api.text(message, "Reading what was before…");
  while (!api.signal.aborted && !figures.complete) {
    try {
      const whole = [await read(api, TOTALS, figures), await read(api, LATELY, figures)];
      figures.complete = whole.every(Boolean);
      later();
    } catch (error) {
      if (api.signal.aborted) return;
      api.text(message, `What was before cannot be read yet: ${error.message}`);
    }
    if (!figures.complete) await pause(LOOK);
  }
  api.replace(message);
}

/** Take in what SQL selects; return whether the table had all rows by then. */
async function read(api, sql, figures) {
  let whole = true;
  for (let page = 0; page < PAGES; page++) {
    const { columns, rows, complete } = await api.post("tables/revenue/query", { sql: `${sql} limit ${MOST} offset ${page * MOST}`, limit: MOST });
    for (const row of rows) figures.revenue(Object.fromEntries(columns.map((name, number) => [name, row[number]])));
    whole &&= complete;
    if (rows.length < MOST) break;
  }
  return whole;
}

/** Take in what runs low; where nobody has declared an alert yet, that is nothing. */
async function stock(api, figures, later) {
  try {
    figures.alerts((await api.get("alerts")).current);
    later();
  } catch (error) {
    if (!api.signal.aborted) console.warn(error.message); // the next look may tell
  }
}

/** Make the panels; return what draws them anew. */
function parts(element, api, figures) {
  const numbers = tiles(api, ["This minute so far", "The minute before", "Invoices in a minute", "Rewards", "Suspicions"]);
  const chartPanel = api.el("section", { class: "panel retail-wide" });
  const products = ranking(api, "Top products", "last 5 minutes", "Nothing sold yet.");
  const shops = ranking(api, "Top shops", "last 5 minutes", "Nothing sold yet.");
  const cities = map(api);
  const low = feed(api, "Stock that runs low", "until it is supplied", "All shelves are full.");
  const rewards = feed(api, "Rewards", "as they are sent", "No reward yet.");
  const frauds = feed(api, "Suspicions", "two cities, large refunds", "Nothing suspicious.");
  const columns = [[products, rewards], [shops, frauds], [cities, low]];
  const column = (panels) => api.el("div", { class: "retail-column" }, panels.map((panel) => panel.element));
  element.append(numbers.element, chartPanel, ...columns.map(column));
  const chart = api.chart(chartPanel, {
    label: "Revenue per minute",
    series: [{ label: "now" }, { label: "an hour ago", colour: "quiet", fill: false }, { label: "a day ago", colour: "warning", fill: false }],
    format: (value) => euros(value === null || value === undefined ? value : value * 100),
    height: 220,
  });
  let charted = { minute: null, complete: false, at: 0 };
  return () => {
    const ranked = figures.ranking("shop");
    const now = performance.now();
    const { newest: minute, complete } = figures;
    if (charted.minute !== minute || charted.complete !== complete || now - charted.at > CHARTED) {
      charted = { minute, complete, at: now };
      chart.set(figures.chart);
    }
    numbers.set(headline(figures, api));
    products.set(bars(figures.ranking("product"), (row) => row.name));
    shops.set(bars(ranked, (row) => (row.name === "WEB" ? "Web shop" : `${row.name} ${cityOf(row.name)}`)));
    cities.set(ranked, complete);
    low.set(figures.low.map(({ message, row, at }) => ({ words: message, note: row?.units === undefined ? "" : `${row.units} left`, at })));
    rewards.set(figures.rewards.map((row) => ({ words: row.message, note: `${row.loyalty} in ${row.shop}`, at: row.at })));
    frauds.set(figures.frauds.map((row) => ({ words: `${row.card ?? "cash"}: ${row.message}`, note: exactly(row.cents), at: row.at })));
  };
}

function headline(figures, api) {
  const { soFar, cents, sales, hour, day } = figures.last;
  const change = cents && hour ? cents / hour - 1 : null;
  const words = [change === null ? "" : `${percent(change)} on an hour ago`, cents && day ? `${percent(cents / day - 1)} on a day ago` : ""];
  return [
    [euros(soFar), "and growing"],
    [euros(cents), words.filter(Boolean).join(", "), whole(change) < 0 ? "down" : whole(change) > 0 ? "up" : ""],
    [api.format.count(sales), "of all shops"],
    [api.format.count(figures.rewarded), "since this page was opened"],
    [api.format.count(figures.suspected), "since this page was opened"],
  ];
}

const whole = (part) => Math.round(part * 100);
const percent = (part) => `${["−", "±", "+"][Math.sign(whole(part)) + 1]}${Math.abs(whole(part))} %`;

function bars(rows, label) {
  const most = rows[0]?.cents || 1;
  return rows.map((row) => ({ label: label(row), value: euros(row.cents), share: row.cents / most }));
}
