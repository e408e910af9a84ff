// The mesh's own page: revenue as it grows, compared with before; products, cities, stock, rewards, suspicions.

import { Figures } from "./figures.js";
import { cityOf } from "./cities.js";
import { euros, exactly, feed, map, ranking, tiles } from "./panels.js";

const NEEDED = ["revenue", "rewards", "fraud"];
const WELCOME = ["alerts"]; // where there are such programs
const LOOK = 2; // seconds between two looks whether the topics are there
const DRAWN = 500; // milliseconds between two drawings
const CHARTED = 5000; // milliseconds until minutes that are over, which late invoices may still change, are drawn again
const TAIL = 300; // events of each topic to begin with
const PAST = "select dimension, name, window_start, cents, sales from revenue where dimension = 'total' order by window_start desc";
const MOST = 1000; // rows of one answer
const PAGES = 2; // of them: more than a day

/** Show the report in an element, until the page is left. */
export async function show(element, api) {
  element.classList.add("retail");
  const message = api.el("p", { class: "quiet-text", role: "status" }, "Waiting for the programs…");
  element.append(message);
  const topics = await there(api, message);
  if (api.signal.aborted) return;
  const figures = new Figures();
  const draw = parts(element, api, figures);
  await past(api, figures);
  api.replace(message);
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
  draw();
  api.stream(topics, (events) => (figures.take(events), later()), { start: `tail:${TAIL}` });
}

/** Wait until the programs have made their topics; return those to follow. */
async function there(api, message) {
  while (!api.signal.aborted) {
    const names = new Set((await api.get("topics")).map((topic) => topic.name));
    const missing = NEEDED.filter((name) => !names.has(name));
    if (!missing.length) return [...NEEDED, ...WELCOME.filter((name) => names.has(name))];
    api.text(message, `Waiting for the programs: there is no topic ${missing.join(", ")} yet.`);
    await new Promise((done) => setTimeout(done, LOOK * 1000));
  }
  return [];
}

/** Take in the revenue of the past from the table; without it the chart begins now. */
async function past(api, figures) {
  try {
    for (let page = 0; page < PAGES; page++) {
      const sql = `${PAST} limit ${MOST} offset ${page * MOST}`;
      const { columns, rows } = await api.post("tables/revenue/query", { sql, limit: MOST });
      for (const row of rows) figures.revenue(Object.fromEntries(columns.map((name, number) => [name, row[number]])));
      if (rows.length < MOST) return;
    }
  } catch (error) {
    if (!api.signal.aborted) console.warn(error.message);
  }
}

/** Make the panels; return what draws them anew. */
function parts(element, api, figures) {
  const numbers = tiles(api, ["This minute so far", "The minute before", "Invoices in a minute", "Rewards", "Suspicions"]);
  const chartPanel = api.el("section", { class: "panel retail-wide" });
  const products = ranking(api, "Top products", "last 5 minutes", "Nothing sold yet.");
  const shops = ranking(api, "Top shops", "last 5 minutes", "Nothing sold yet.");
  const cities = map(api);
  const stock = feed(api, "Stock that runs low", "until it is supplied", "All shelves are full.");
  const rewards = feed(api, "Rewards", "as they are sent", "No reward yet.");
  const frauds = feed(api, "Suspicions", "two cities, large refunds", "Nothing suspicious.");
  const columns = [[products, rewards], [shops, frauds], [cities, stock]];
  const column = (panels) => api.el("div", { class: "retail-column" }, panels.map((panel) => panel.element));
  element.append(numbers.element, chartPanel, ...columns.map(column));
  const chart = api.chart(chartPanel, {
    label: "Revenue per minute",
    series: [{ label: "now" }, { label: "an hour ago", colour: "quiet", fill: false }, { label: "a day ago", colour: "warning", fill: false }],
    format: (value) => euros(value === null || value === undefined ? value : value * 100),
    height: 220,
  });
  let charted = { minute: null, at: 0 };
  return () => {
    const ranked = figures.ranking("shop");
    const now = performance.now();
    if (charted.minute !== figures.newest || now - charted.at > CHARTED) {
      charted = { minute: figures.newest, at: now };
      chart.set(figures.chart);
    }
    numbers.set(headline(figures, api));
    products.set(bars(figures.ranking("product"), (row) => row.name));
    shops.set(bars(ranked, (row) => (row.name === "WEB" ? "Web shop" : `${row.name} ${cityOf(row.name)}`)));
    cities.set(ranked);
    stock.set([...figures.low.values()].reverse().map(({ message, row, at }) => ({ words: message, note: row?.units === undefined ? "" : `${row.units} left`, at })));
    rewards.set(figures.rewards.map((row) => ({ words: row.message, note: `${row.loyalty} in ${row.shop}`, at: row.at })));
    frauds.set(figures.frauds.map((row) => ({ words: `${row.card}: ${row.message}`, note: exactly(row.cents), at: row.at })));
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
