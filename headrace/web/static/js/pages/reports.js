// Reports: pages that come with programs, in folders given to `headrace ui --report`.

import { get } from "../api.js";
import { el, link, path, replace } from "../dom.js";
import { empty, waiting } from "../poll.js";
import { reportApi, style } from "../report.js";

/** Show the reports there are, or one. */
export async function show(element, { name, signal }) {
  const reports = await get("reports", {}, signal);
  if (name) return one(element, name, reports.find((report) => report.name === name), signal);
  element.append(el("h1", {}, "Reports"));
  if (!reports.length) {
    const hint = "A report is a page of your own about what programs write. The retail mesh has one:";
    return element.append(el("div", { class: "panel" }, empty("No reports", hint, "headrace demo", "headrace ui --report FOLDER")));
  }
  element.append(el("ul", { class: "cards" }, reports.map((report) => el("li", {}, link(path("reports", report.name), report.title || report.name, { class: "panel card" })))));
}

async function one(element, name, report, signal) {
  if (!report) throw new Error(`There is no report ${name}; headrace ui --report FOLDER gives one.`);
  const holder = el("div", { class: "report" });
  const base = `/reports/${encodeURIComponent(name)}`;
  element.append(el("p", { class: "crumb" }, link("reports", "Reports")), el("h1", {}, report.title || name), waiting(holder));
  const [module] = await Promise.all([import(`${base}/report.js`), style(`${base}/report.css`, signal)]);
  if (signal.aborted) return undefined;
  replace(holder);
  return module.show(holder, reportApi(signal));
}
