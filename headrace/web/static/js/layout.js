// Places for nodes that follow each other, in columns from left to right.

const GAP = 78; // between columns: room for a rate
const SPACE = 22; // between nodes of a column
const LANE = 10; // for an edge that passes a column
const ROUNDS = 6;

/**
 * Give every node `x` and `y`, and every edge the `spots` it passes; return the size of it all.
 * Edges are `{from, to}`; one that leads back, in a loop, is drawn like the others, from right to left.
 */
export function arrange(nodes, edges) {
  const ranks = pulled(ranked(nodes, edges), edges);
  const columns = [];
  for (const node of nodes.values()) (columns[ranks.get(node)] ??= []).push(node);
  const chains = edges.map((edge) => chain(edge, ranks, columns));
  let x = 0;
  for (const column of columns) {
    const width = Math.max(...column.map((one) => one.width ?? 0));
    for (const one of column) Object.assign(one, { x: x + (width - (one.width || width)) / 2, y: 0, column: { x, width } });
    x += width + GAP;
  }
  const links = chains.flatMap((stops) => stops.slice(1).map((stop, number) => [stops[number], stop]));
  for (let round = 0; round < ROUNDS; round += 1) {
    const backward = round % 2 === 1;
    for (const column of backward ? [...columns].reverse() : columns) stack(column, backward ? links.map(([a, b]) => [b, a]) : links);
  }
  const all = columns.flat();
  const top = Math.min(...all.map((one) => one.y));
  for (const one of all) one.y -= top;
  const ports = entries(chains);
  edges.forEach((edge, number) => (edge.spots = spots(chains[number], ports.get(chains[number]))));
  return { width: x - GAP, height: Math.max(...all.map((one) => one.y + one.height)) };
}

/** Return the column of each node: beyond all that it follows; a loop is cut where it closes. */
function ranked(nodes, edges) {
  const before = new Map([...nodes.values()].map((node) => [node, []]));
  for (const { from, to } of edges) before.get(to).push(from);
  const found = new Map();
  const open = new Set();
  const rank = (node) => {
    if (found.has(node)) return found.get(node);
    open.add(node);
    const own = Math.max(0, ...before.get(node).filter((one) => !open.has(one)).map((one) => rank(one) + 1));
    open.delete(node);
    found.set(node, own);
    return own;
  };
  for (const node of before.keys()) rank(node);
  return found;
}

/** Put what nothing leads to right before what it leads to. */
function pulled(ranks, edges) {
  const reached = new Set(edges.map((edge) => edge.to));
  for (const node of ranks.keys()) {
    const after = edges.filter((edge) => edge.from === node).map((edge) => ranks.get(edge.to));
    if (!reached.has(node) && after.length) ranks.set(node, Math.min(...after) - 1);
  }
  return ranks;
}

function chain({ from, to }, ranks, columns) {
  const lanes = [];
  for (let rank = ranks.get(from) + 1; rank < ranks.get(to); rank += 1) {
    lanes.push({ lane: true, height: LANE });
    (columns[rank] ??= []).push(lanes.at(-1));
  }
  return [from, ...lanes, to];
}

const middle = (one) => one.y + one.height / 2;

/** Put a column's nodes below each other, each as near as can be to the middle of those it is linked to. */
function stack(column, links) {
  const wanted = new Map();
  for (const one of column) {
    const near = links.filter(([, b]) => b === one).map(([a]) => middle(a));
    wanted.set(one, near.length ? near.reduce((sum, y) => sum + y, 0) / near.length : middle(one));
  }
  const order = [...column].sort((a, b) => wanted.get(a) - wanted.get(b));
  let floor = -Infinity;
  for (const one of order) {
    one.y = Math.max(floor, wanted.get(one) - one.height / 2);
    floor = one.y + one.height + SPACE;
  }
  const shift = order.reduce((sum, one) => sum + middle(one) - wanted.get(one), 0) / order.length;
  for (const one of order) one.y -= shift; // what was pushed down stands around the middle of what it wanted
}

/** Return at which height each edge enters its end: one below the other, in the order from which they come. */
function entries(chains) {
  const found = new Map();
  for (const end of new Set(chains.map((stops) => stops.at(-1)))) {
    const mine = chains.filter((stops) => stops.at(-1) === end).sort((a, b) => middle(a.at(-2)) - middle(b.at(-2)));
    mine.forEach((stops, number) => found.set(stops, end.y + (end.height * (number + 1)) / (mine.length + 1)));
  }
  return found;
}

/** Return the points of an edge: straight where it passes a column, curved between. */
function spots(stops, entry) {
  const [first, ...rest] = stops;
  const last = rest.pop();
  const back = first.x > last.x;
  const points = [{ x: first.x + first.width, y: middle(first) }];
  for (const lane of rest) {
    points.push({ x: lane.column.x, y: middle(lane), level: true });
    points.push({ x: lane.column.x + lane.column.width, y: middle(lane) });
  }
  points.push({ x: last.x, y: entry });
  return back ? [points[0], points.at(-1)] : points;
}
