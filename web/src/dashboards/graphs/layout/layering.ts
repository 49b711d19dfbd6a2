import type { Adjacency, LayoutEdge, LayoutNode } from './layout-types';

/** Which links lead back along a walk through the graph, so that turning them leaves no cycle. */
export function listBackEdges(count: number, links: readonly LayoutEdge[]): Set<number> {
  const leaving = edgesBySource(count, links);
  const state = new Uint8Array(count);
  const backward = new Set<number>();
  for (const start of searchOrder(count, links)) {
    if (state[start] === UNVISITED) depthFirstSearch(start, links, leaving, state, backward);
  }
  return backward;
}

const UNVISITED = 0;
const ON_STACK = 1;
const DONE = 2;

/** Without recursion: a chain of ten thousand nodes is no stack of ten thousand calls. */
function depthFirstSearch(
  start: number,
  links: readonly LayoutEdge[],
  leaving: readonly (readonly number[])[],
  state: Uint8Array,
  backward: Set<number>,
): void {
  const path: { node: number; next: number }[] = [{ node: start, next: 0 }];
  state[start] = ON_STACK;
  for (let top = path.at(-1); top; top = path.at(-1)) {
    const link = leaving[top.node]?.[top.next++];
    if (link === undefined) {
      state[top.node] = DONE;
      path.pop();
      continue;
    }
    const target = links[link]?.target ?? 0;
    if (state[target] === ON_STACK) backward.add(link);
    else if (state[target] === UNVISITED) {
      state[target] = ON_STACK;
      path.push({ node: target, next: 0 });
    }
  }
}

/** Nodes that nothing leads to come first, so that the walk follows the graph. */
function searchOrder(count: number, links: readonly LayoutEdge[]): number[] {
  const isReached = new Uint8Array(count);
  for (const { source, target } of links) if (source !== target) isReached[target] = 1;
  const nodes = Array.from({ length: count }, (_, node) => node);
  return [...nodes.filter((node) => !isReached[node]), ...nodes.filter((node) => isReached[node])];
}

function edgesBySource(count: number, links: readonly LayoutEdge[]): number[][] {
  const leaving: number[][] = Array.from({ length: count }, () => []);
  links.forEach(({ source, target }, place) => {
    if (source !== target) leaving[source]?.push(place);
  });
  return leaving;
}

/** Neighbours by the direction of the flow; several links between two nodes count once. */
export function buildAdjacency(count: number, links: readonly LayoutEdge[]): Adjacency {
  const above: number[][] = Array.from({ length: count }, () => []);
  const below: number[][] = Array.from({ length: count }, () => []);
  const seen = new Set<number>();
  for (const { source, target } of links) {
    const key = source * count + target;
    if (source === target || seen.has(key)) continue;
    seen.add(key);
    above[target]?.push(source);
    below[source]?.push(target);
  }
  return { above, below };
}

/** The row of each node: below all that lead to it, and as near as can be to what it leads to. */
export function assignRanks(blocks: readonly LayoutNode[], flow: Adjacency): Int32Array {
  const order = topologicalOrder(flow);
  const ranks = new Int32Array(blocks.length);
  for (const node of order)
    for (const next of flow.below[node] ?? []) placeBelow(ranks, next, node);
  pullDown(order, flow, ranks);
  pinPorts(blocks, ranks);
  return ranks;
}

function placeBelow(ranks: Int32Array, node: number, above: number): void {
  ranks[node] = Math.max(ranks[node] ?? 0, (ranks[above] ?? 0) + 1);
}

/** What has more ways out than in goes down to its readers: a weight stands beside its layer. */
function pullDown(order: readonly number[], flow: Adjacency, ranks: Int32Array): void {
  for (const node of [...order].reverse()) {
    const below = flow.below[node] ?? [];
    if (below.length <= (flow.above[node]?.length ?? 0) || below.length === 0) continue;
    let nearest = Infinity;
    for (const next of below) nearest = Math.min(nearest, ranks[next] ?? 0);
    ranks[node] = nearest - 1;
  }
}

/** Ports stand on the edges of their group: above and below everything else. */
function pinPorts(blocks: readonly LayoutNode[], ranks: Int32Array): void {
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
export function topologicalOrder(flow: Adjacency): number[] {
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

/**
 * The rows of a level with bends in them where a link passes a row. All links of one node share
 * their bends, so that a tensor read in a hundred places is one line with a hundred branches.
 */
export interface LayeredGraph {
  /** How many of the items are nodes; the others are bends. */
  readonly nodeCount: number;
  readonly layerOf: Int32Array;
  readonly layers: readonly (readonly number[])[];
  readonly above: readonly (readonly number[])[];
  readonly below: readonly (readonly number[])[];
  /** How far right of its upper item the lower item of a join stands where the line is straight. */
  readonly skew: ReadonlyMap<string, number>;
  /** The bends of each link, from its upper end. */
  readonly dummyNodes: readonly (readonly number[])[];
}

/** Beyond so many bends long links lead straight on, as the picture could not be read anyhow. */
const MAX_DUMMY_NODES = 12_000;

/** `links` all lead down, but those in `alone` share no bends with others. */
export function buildLayers(
  ranks: Int32Array,
  links: readonly LayoutEdge[],
  alone: ReadonlySet<number>,
): LayeredGraph {
  const builder = new LayerBuilder(ranks);
  const bends = links.map((link, place) => builder.add(link, alone.has(place)));
  return builder.finish(bends);
}

export const segmentKey = (upper: number, lower: number): string => `${upper} ${lower}`;

class LayerBuilder {
  readonly #nodeCount: number;
  readonly #layerOf: number[];
  readonly #above: number[][];
  readonly #below: number[][];
  readonly #chains = new Map<number, number[]>();
  readonly #segments = new Set<string>();
  readonly #skew = new Map<string, number>();

  constructor(ranks: Int32Array) {
    this.#nodeCount = ranks.length;
    this.#layerOf = [...ranks];
    this.#above = this.#layerOf.map(() => []);
    this.#below = this.#layerOf.map(() => []);
  }

  add(
    { source, target, sourceOffset = 0, targetOffset = 0 }: LayoutEdge,
    isAlone: boolean,
  ): number[] {
    if (source === target) return [];
    const needed = this.#layer(target) - this.#layer(source) - 1;
    if (this.#layerOf.length - this.#nodeCount + needed > MAX_DUMMY_NODES) return [];
    const chain = isAlone ? [] : (this.#chains.get(source) ?? []);
    if (!isAlone) this.#chains.set(source, chain);
    while (chain.length < needed) chain.push(this.#addDummy(chain.at(-1) ?? source, sourceOffset));
    const bends = chain.slice(0, Math.max(0, needed));
    const last = bends.at(-1);
    this.#addSegment(last ?? source, target, last === undefined ? sourceOffset : 0, targetOffset);
    return bends;
  }

  finish(bends: readonly (readonly number[])[]): LayeredGraph {
    const count = this.#layerOf.reduce((most, row) => Math.max(most, row), -1) + 1;
    const rows: number[][] = Array.from({ length: count }, () => []);
    this.#layerOf.forEach((row, item) => rows[row]?.push(item));
    const [nodes, rowOf] = [this.#nodeCount, Int32Array.from(this.#layerOf)];
    const [above, below, skew] = [this.#above, this.#below, this.#skew];
    return {
      nodeCount: nodes,
      layerOf: rowOf,
      layers: rows,
      above,
      below,
      skew,
      dummyNodes: bends,
    };
  }

  #layer(item: number): number {
    return this.#layerOf[item] ?? 0;
  }

  #addDummy(above: number, offset: number): number {
    const bend = this.#layerOf.length;
    this.#layerOf.push(this.#layer(above) + 1);
    this.#above.push([]);
    this.#below.push([]);
    this.#addSegment(above, bend, above < this.#nodeCount ? offset : 0, 0);
    return bend;
  }

  #addSegment(upper: number, lower: number, upperOffset: number, lowerOffset: number): void {
    const key = segmentKey(upper, lower);
    if (this.#segments.has(key)) return;
    this.#segments.add(key);
    if (upperOffset !== lowerOffset) this.#skew.set(key, upperOffset - lowerOffset);
    this.#below[upper]?.push(lower);
    this.#above[lower]?.push(upper);
  }
}
