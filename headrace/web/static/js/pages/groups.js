// Consumer groups: who reads what, and how far behind.

import { get } from "../api.js";
import { breakable, el, link, path, replace } from "../dom.js";
import * as format from "../format.js";
import { empty, poll, waiting } from "../poll.js";
import { go } from "../router.js";
import { badge } from "../status.js";
import { table } from "../table.js";

const COLUMNS = [
  { name: "name", label: "Group", value: (g) => g.name, cell: (g) => link(path("groups", g.name), breakable(g.name)), once: true, class: "name" },
  { name: "state", label: "State", value: (g) => g.state, cell: (g) => badge(level(g), g.state) },
  { name: "members", label: "Members", value: members, cell: (g) => format.count(members(g)), number: true },
  { name: "lag", label: "Lag", value: (g) => g.lag, cell: (g) => format.count(g.lag), number: true },
];
const PARTITIONS = [
  { name: "topic", label: "Topic", value: (p) => p.topic, cell: (p) => link(path("topics", p.topic), p.topic), once: true, class: "name" },
  { name: "partition", label: "Partition", value: (p) => p.partition, cell: (p) => format.count(p.partition), number: true },
  { name: "offset", label: "Read up to", value: (p) => p.offset, cell: (p) => format.count(p.offset), number: true, wide: true },
  { name: "end", label: "End", value: (p) => p.end, cell: (p) => format.count(p.end), number: true, wide: true },
  { name: "lag", label: "Lag", value: (p) => p.lag, cell: (p) => format.count(p.lag), number: true },
  { name: "member", label: "Member", value: (p) => p.member ?? "", cell: (p) => p.member ?? "nobody", wide: true },
];

function members(group) {
  return Array.isArray(group.members) ? group.members.length : group.members;
}

function level(group) {
  if (group.state === "stable") return "good";
  return group.state === "empty" ? "off" : "warning";
}

/** Show all groups, or one. */
export async function show(element, { name, signal }) {
  return name ? one(element, name, signal) : all(element, signal);
}

async function all(element, signal) {
  const list = table({ columns: COLUMNS, key: (g) => g.name, label: "Groups", sort: "-lag", pick: (g) => go(path("groups", g.name)) });
  const holder = el("div", { class: "panel flush" });
  element.append(el("h1", {}, "Consumer groups"), waiting(holder));
  const load = async () => {
    const groups = await get("groups", {}, signal);
    if (!groups.length) return replace(holder, empty("No groups yet", "A group appears when a consumer reads with one:", "headrace topic tail orders --group audit"));
    if (holder.firstChild !== list.element) replace(holder, list.element);
    list.set(groups);
  };
  await poll(3, load, signal);
}

async function one(element, name, signal) {
  const state = el("p", { class: "state-line" });
  const list = table({ columns: PARTITIONS, key: (p) => `${p.topic}/${p.partition}`, label: "Partitions", sort: "-lag", none: "It has committed nothing yet." });
  const who = el("ul", { class: "mono plain" });
  element.append(
    el("p", { class: "crumb" }, link("groups", "Groups")),
    el("h1", { class: "mono" }, name),
    state,
    el("section", { class: "panel flush" }, el("h2", {}, "Partitions"), list.element),
    el("section", { class: "panel" }, el("h2", {}, "Members"), who),
  );
  const load = async () => {
    const group = await get(`groups/${encodeURIComponent(name)}`, {}, signal);
    replace(state, badge(level(group), group.state), ` ${format.many(members(group), "member")} · lag ${format.count(group.lag)}`);
    list.set(group.partitions);
    const present = group.members.map((member) => el("li", {}, member));
    replace(who, present.length ? present : el("li", { class: "quiet-text" }, "Nobody reads with it now."));
  };
  await poll(2, load, signal);
}
