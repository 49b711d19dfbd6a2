import type { LayeredGraph } from './layering';

/** How many pairs of links cross between neighbouring rows. */
export function countCrossings(
  order: readonly (readonly number[])[],
  { below }: LayeredGraph,
): number {
  let crossings = 0;
  for (let at = 0; at + 1 < order.length; at++)
    crossings += countLayerCrossings(order[at] ?? [], order[at + 1] ?? [], below);
  return crossings;
}

/** Counts in a tree of sums over the lower row, so that ten thousand links take no time. */
function countLayerCrossings(
  upper: readonly number[],
  lower: readonly number[],
  below: LayeredGraph['below'],
): number {
  const places = new Map(lower.map((item, place) => [item, place]));
  const sums = new Int32Array(lower.length + 1);
  let [crossings, added] = [0, 0];
  for (const item of upper) {
    const targets = (below[item] ?? []).flatMap((other) => places.get(other) ?? []);
    for (const place of targets) crossings += added - fenwickSum(sums, place);
    for (const place of targets) fenwickAdd(sums, place);
    added += targets.length;
  }
  return crossings;
}

/** Fenwick's tree: each entry holds the sum of a stretch whose length is its lowest bit. */
function fenwickAdd(sums: Int32Array, place: number): void {
  for (let at = place + 1; at < sums.length; at += at & -at) sums[at] = (sums[at] ?? 0) + 1;
}

function fenwickSum(sums: Int32Array, place: number): number {
  let sum = 0;
  for (let at = place + 1; at > 0; at -= at & -at) sum += sums[at] ?? 0;
  return sum;
}

const MAX_SWEEPS = 16;
/** Sweeps that better nothing, one after another, before it is let be. */
const MAX_IDLE_SWEEPS = 4;
/** Items beyond which fewer sweeps have to do. */
const LARGE_GRAPH_ITEMS = 4000;

/** The items of each row from left to right, with few links that cross. */
export function orderLayers(rows: LayeredGraph): number[][] {
  let order = initialOrder(rows);
  let [best, fewest] = [order, countCrossings(order, rows)];
  const sweeps = rows.layerOf.length > LARGE_GRAPH_ITEMS ? 4 : MAX_SWEEPS;
  for (let sweep = 0, idle = 0; sweep < sweeps && idle < MAX_IDLE_SWEEPS && fewest > 0; sweep++) {
    order = sweep % 2 === 0 ? sweepDown(order, rows) : sweepUp(order, rows);
    const crossings = countCrossings(order, rows);
    idle = crossings < fewest ? 0 : idle + 1;
    if (crossings < fewest) [best, fewest] = [order, crossings];
  }
  return best;
}

/** In the order of a walk along the links, which keeps together what belongs together. */
function initialOrder({ layers, layerOf, below, above }: LayeredGraph): number[][] {
  const order: number[][] = layers.map(() => []);
  const isSeen = new Uint8Array(layerOf.length);
  for (let start = 0; start < layerOf.length; start++) {
    const waiting = above[start]?.length === 0 ? [start] : [];
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
      if (isSeen[item]) continue;
      isSeen[item] = 1;
      order[layerOf[item] ?? 0]?.push(item);
      for (const next of [...(below[item] ?? [])].reverse()) if (!isSeen[next]) waiting.push(next);
    }
  }
  return order;
}

function sweepDown(order: readonly (readonly number[])[], { above }: LayeredGraph): number[][] {
  const sorted: number[][] = [];
  order.forEach((row, at) => sorted.push(sortByBarycenter(row, sorted[at - 1] ?? [], above)));
  return sorted;
}

function sweepUp(order: readonly (readonly number[])[], { below }: LayeredGraph): number[][] {
  const sorted: number[][] = [];
  [...order]
    .reverse()
    .forEach((row, at) => sorted.push(sortByBarycenter(row, sorted[at - 1] ?? [], below)));
  return sorted.reverse();
}

/** Items go to the mean of their neighbours in the row before; one without any stays in its place. */
function sortByBarycenter(
  row: readonly number[],
  before: readonly number[],
  neighbours: LayeredGraph['above'],
): number[] {
  const places = new Map(before.map((item, place) => [item, place]));
  const wanted = new Map<number, number>();
  for (const item of row) {
    const found = (neighbours[item] ?? []).flatMap((other) => places.get(other) ?? []);
    if (found.length > 0) wanted.set(item, found.reduce((sum, at) => sum + at, 0) / found.length);
  }
  const moving = row
    .filter((item) => wanted.has(item))
    .sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
  let next = 0;
  return row.map((item) => (wanted.has(item) ? (moving[next++] ?? item) : item));
}
