import type { Block, Flow } from './types';

/** The row of each node: below all that lead to it, and as near as can be to what it leads to. */
export function findRanks(blocks: readonly Block[], flow: Flow): Int32Array {
  const order = sortAlong(flow);
  const ranks = new Int32Array(blocks.length);
  for (const node of order) for (const next of flow.below[node] ?? []) lower(ranks, next, node);
  pullDown(order, flow, ranks);
  pinPorts(blocks, ranks);
  return ranks;
}

function lower(ranks: Int32Array, node: number, above: number): void {
  ranks[node] = Math.max(ranks[node] ?? 0, (ranks[above] ?? 0) + 1);
}

/** What has more ways out than in goes down to its readers: a weight stands beside its layer. */
function pullDown(order: readonly number[], flow: Flow, ranks: Int32Array): void {
  for (const node of [...order].reverse()) {
    const below = flow.below[node] ?? [];
    if (below.length <= (flow.above[node]?.length ?? 0) || below.length === 0) continue;
    let nearest = Infinity;
    for (const next of below) nearest = Math.min(nearest, ranks[next] ?? 0);
    ranks[node] = nearest - 1;
  }
}

/** Ports stand on the edges of their group: above and below everything else. */
function pinPorts(blocks: readonly Block[], ranks: Int32Array): void {
  if (blocks.every(({ pin }) => pin === undefined)) return;
  let [first, last] = [Infinity, -Infinity];
  blocks.forEach(({ pin }, node) => {
    if (pin !== undefined) return;
    first = Math.min(first, ranks[node] ?? 0);
    last = Math.max(last, ranks[node] ?? 0);
  });
  if (first > last) [first, last] = [0, 0];
  blocks.forEach(({ pin }, node) => {
    if (pin === 'top') ranks[node] = first - 1;
    if (pin === 'bottom') ranks[node] = last + 1;
  });
  const lowest = ranks.reduce((least, rank) => Math.min(least, rank), Infinity);
  for (let node = 0; node < ranks.length; node++) ranks[node] = (ranks[node] ?? 0) - lowest;
}

/** All nodes, each after those that lead to it; equal ones in the order that they came in. */
export function sortAlong(flow: Flow): number[] {
  const missing = flow.above.map((nodes) => nodes.length);
  const order = missing.flatMap((count, node) => (count === 0 ? [node] : []));
  for (let at = 0; at < order.length; at++) {
    for (const next of flow.below[order[at] ?? 0] ?? []) {
      missing[next] = (missing[next] ?? 0) - 1;
      if (missing[next] === 0) order.push(next);
    }
  }
  return order;
}
