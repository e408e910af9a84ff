// Charts over time by uPlot, in the colours of the page; and lines small enough for a row of a table.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { colour, faint, onTheme } from "./colours.js";
import { attribute, el, svg, text } from "./dom.js";
import * as format from "./format.js";

const DASHES = [[], [6, 4], [2, 3], [10, 3, 2, 3]]; // so that series differ without colour too
const SHORTEST = 60; // seconds that a chart shows

/**
 * Draw a chart that follows its element's width.
 * `series` is `[{label, colour, fill}]`, `least` what the scale reaches when all values are small; `set([t, …values])` takes columns, t in epoch seconds.
 */
export function chart(element, { label, series, format: told = format.short, height = 150, least = 1, sync = "", signal }) {
  const now = el("span", { class: "chart-now" });
  const box = el("div", { class: "chart-box" });
  const figure = el("figure", { class: "chart" }, el("figcaption", {}, el("span", {}, label), now), box);
  element.append(figure);
  const plot = new uPlot(options({ series, told, height, least, sync }, box.clientWidth || 300), [[], ...series.map(() => [])], box);
  plot.root.setAttribute("aria-hidden", "true");
  const tell = (index) => text(now, caption(plot, series, told, index));
  plot.hooks.setCursor = [() => tell(plot.cursor.idx)];
  const sizes = new ResizeObserver(() => box.clientWidth && plot.setSize({ width: box.clientWidth, height }));
  sizes.observe(box);
  onTheme(() => plot.redraw(false, true), signal);
  signal?.addEventListener("abort", () => (sizes.disconnect(), plot.destroy()));
  return {
    set(data) {
      plot.setData(data);
      tell(plot.cursor.idx);
    },
  };
}

function caption(plot, series, told, index) {
  const [t, ...values] = plot.data;
  const at = index ?? t.length - 1;
  if (at < 0 || t[at] === undefined) return "nothing yet";
  const words = values.map((column, number) => (series.length > 1 ? `${series[number].label} ` : "") + told(column[at]));
  return (index === null || index === undefined ? "" : `${format.clock(t[at] * 1000)}  `) + words.join(" · ");
}

function options({ series, told, height, least, sync }, width) {
  const axis = { stroke: () => colour("quiet"), grid: { stroke: () => colour("grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  return {
    width,
    height,
    legend: { show: false },
    padding: [8, 18, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false }, sync: sync ? { key: sync } : undefined },
    scales: { x: { range: (_, from, to) => [Math.min(from, to - SHORTEST), to] }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(least, (high ?? 0) * 1.1)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 70, values: (_, ticks) => ticks.map((tick) => hour(tick, ticks)) },
      { ...axis, size: 54, space: 28, values: (_, ticks) => ticks.map((tick) => told(tick)) },
    ],
    series: [
      {},
      ...series.map((one, number) => ({
        label: one.label,
        stroke: () => colour(one.colour ?? "accent"),
        fill: one.fill === false ? undefined : () => faint(one.colour ?? "accent", 0.1),
        width: 1.5,
        dash: DASHES[number % DASHES.length],
        points: { show: false },
        spanGaps: true,
      })),
    ],
  };
}

function hour(tick, ticks) {
  const fine = ticks.length > 1 && ticks[1] - ticks[0] < 60;
  return format.clock(tick * 1000).slice(0, fine ? 8 : 5);
}

const WIDE = 100;
const HIGH = 24;
const POINTS = 60; // of the last values, as many as can be seen

/** Make a small line: `set(values)` draws the last of them. */
export function sparkline(label) {
  const line = svg("path", { class: "spark-line" });
  const area = svg("path", { class: "spark-area" });
  const element = svg("svg", { class: "spark", viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": label }, area, line);
  return {
    element,
    set(values) {
      const last = values.slice(-POINTS);
      if (last.length < 2) return;
      const most = Math.max(...last, 1e-9);
      const step = WIDE / (POINTS - 1);
      const from = WIDE - (last.length - 1) * step;
      const spots = last.map((value, number) => `${(from + number * step).toFixed(1)} ${(HIGH - 2 - ((value ?? 0) / most) * (HIGH - 4)).toFixed(1)}`);
      attribute(line, "d", `M${spots.join("L")}`);
      attribute(area, "d", `M${from.toFixed(1)} ${HIGH}L${spots.join("L")}L${WIDE} ${HIGH}Z`);
    },
  };
}
