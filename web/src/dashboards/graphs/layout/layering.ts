/**
 * The first phases of a layered layout (Sugiyama): break cycles, assign layers, insert dummy nodes
 * where edges pass layers, and order the layers so that few edges cross.
 */
import type { Adjacency, LayoutEdge, LayoutNode } from './layout-types';

// ---- Cycles

const UNVISITED = 0;
const ON_STACK = 1;
const DONE = 2;

/** Return the indexes of edges whose reversal makes the graph acyclic. */
export function listBackEdges(nodeCount: number, edges: readonly LayoutEdge[]): Set<number> {
  const outgoing = groupBySource(nodeCount, edges);
  const state = new Uint8Array(nodeCount);
  const backEdges = new Set<number>();
  for (const start of getSearchOrder(nodeCount, edges)) {
    if (state[start] === UNVISITED) searchDepthFirst(start, edges, outgoing, state, backEdges);
  }
  return backEdges;
}

/** Iterative: a chain of ten thousand nodes would overflow the call stack. */
function searchDepthFirst(
  start: number,
  edges: readonly LayoutEdge[],
  outgoing: readonly (readonly number[])[],
  state: Uint8Array,
  backEdges: Set<number>,
): void {
  const stack: { node: number; next: number }[] = [{ node: start, next: 0 }];
  state[start] = ON_STACK;
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const edge = outgoing[top.node]?.[top.next++];
    if (edge === undefined) {
      state[top.node] = DONE;
      stack.pop();
      continue;
    }
    const target = edges[edge]?.target ?? 0;
    if (state[target] === ON_STACK) backEdges.add(edge);
    else if (state[target] === UNVISITED) {
      state[target] = ON_STACK;
      stack.push({ node: target, next: 0 });
    }
  }
}

/** Nodes without inputs come first, so that the search follows the direction of the graph. */
function getSearchOrder(nodeCount: number, edges: readonly LayoutEdge[]): number[] {
  const hasInput = new Uint8Array(nodeCount);
  for (const { source, target } of edges) if (source !== target) hasInput[target] = 1;
  const nodes = Array.from({ length: nodeCount }, (_, node) => node);
  return [...nodes.filter((node) => !hasInput[node]), ...nodes.filter((node) => hasInput[node])];
}

function groupBySource(nodeCount: number, edges: readonly LayoutEdge[]): number[][] {
  const outgoing: number[][] = Array.from({ length: nodeCount }, () => []);
  edges.forEach(({ source, target }, index) => {
    if (source !== target) outgoing[source]?.push(index);
  });
  return outgoing;
}

// ---- Ranks

/** Return the neighbors of each node; parallel edges count once. */
export function buildAdjacency(nodeCount: number, edges: readonly LayoutEdge[]): Adjacency {
  const above: number[][] = Array.from({ length: nodeCount }, () => []);
  const below: number[][] = Array.from({ length: nodeCount }, () => []);
  const seen = new Set<number>();
  for (const { source, target } of edges) {
    const key = source * nodeCount + target;
    if (source === target || seen.has(key)) continue;
    seen.add(key);
    above[target]?.push(source);
    below[source]?.push(target);
  }
  return { above, below };
}

/** Return the layer of each node: below all of its inputs, as close as possible to its outputs. */
export function assignRanks(nodes: readonly LayoutNode[], adjacency: Adjacency): Int32Array {
  const order = sortTopologically(adjacency);
  const ranks = new Int32Array(nodes.length);
  for (const node of order)
    for (const next of adjacency.below[node] ?? [])
      ranks[next] = Math.max(ranks[next] ?? 0, (ranks[node] ?? 0) + 1);
  pullDown(order, adjacency, ranks);
  pinPorts(nodes, ranks);
  return ranks;
}

/** Move nodes with more outputs than inputs down to their outputs: a weight is next to its layer. */
function pullDown(order: readonly number[], adjacency: Adjacency, ranks: Int32Array): void {
  for (const node of [...order].reverse()) {
    const below = adjacency.below[node] ?? [];
    if (below.length <= (adjacency.above[node]?.length ?? 0) || below.length === 0) continue;
    let nearest = Infinity;
    for (const next of below) nearest = Math.min(nearest, ranks[next] ?? 0);
    ranks[node] = nearest - 1;
  }
}

/** Move ports to the borders of their group: above and below all nodes. */
function pinPorts(nodes: readonly LayoutNode[], ranks: Int32Array): void {
  if (nodes.every(({ pin }) => pin === undefined)) return;
  let [first, last] = [Infinity, -Infinity];
  nodes.forEach(({ pin }, node) => {
    if (pin !== undefined) return;
    first = Math.min(first, ranks[node] ?? 0);
    last = Math.max(last, ranks[node] ?? 0);
  });
  if (first > last) [first, last] = [0, 0];
  nodes.forEach(({ pin }, node) => {
    if (pin === 'top') ranks[node] = first - 1;
    if (pin === 'bottom') ranks[node] = last + 1;
  });
  const lowest = ranks.reduce((least, rank) => Math.min(least, rank), Infinity);
  for (let node = 0; node < ranks.length; node++) ranks[node] = (ranks[node] ?? 0) - lowest;
}

/** Return all nodes, each after its inputs; the order is stable. */
function sortTopologically(adjacency: Adjacency): number[] {
  const missing = adjacency.above.map((nodes) => nodes.length);
  const order = missing.flatMap((count, node) => (count === 0 ? [node] : []));
  for (let index = 0; index < order.length; index++) {
    for (const next of adjacency.below[order[index] ?? 0] ?? []) {
      missing[next] = (missing[next] ?? 0) - 1;
      if (missing[next] === 0) order.push(next);
    }
  }
  return order;
}

// ---- Layers

/**
 * Nodes and dummy nodes ("items") in layers. All edges of one source share their dummy nodes, so
 * that a tensor with a hundred readers is one line with a hundred branches.
 */
export interface LayeredGraph {
  /** Items from this index on are dummy nodes. */
  readonly nodeCount: number;
  readonly layerOf: Int32Array;
  readonly layers: readonly (readonly number[])[];
  readonly above: readonly (readonly number[])[];
  readonly below: readonly (readonly number[])[];
  /** By segment: how far the lower item is to the right of the upper one on a straight line. */
  readonly skew: ReadonlyMap<string, number>;
  /** The dummy nodes of each edge, from its upper end. */
  readonly dummyNodes: readonly (readonly number[])[];
}

/** Beyond this limit, long edges are straight lines: the drawing is not readable anyway. */
const MAX_DUMMY_NODES = 12_000;

/** Build layers from edges that lead down; those in `alone` share no dummy nodes with others. */
export function buildLayers(
  ranks: Int32Array,
  edges: readonly LayoutEdge[],
  alone: ReadonlySet<number>,
): LayeredGraph {
  const builder = new LayerBuilder(ranks);
  const dummyNodes = edges.map((edge, index) => builder.add(edge, alone.has(index)));
  return builder.finish(dummyNodes);
}

export const segmentKey = (upper: number, lower: number): string => `${upper} ${lower}`;

class LayerBuilder {
  readonly #nodeCount: number;
  readonly #layerOf: number[];
  readonly #above: number[][];
  readonly #below: number[][];
  /** The shared dummy nodes of each source. */
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
    const needed = this.#getLayer(target) - this.#getLayer(source) - 1;
    if (this.#layerOf.length - this.#nodeCount + needed > MAX_DUMMY_NODES) return [];
    const chain = isAlone ? [] : (this.#chains.get(source) ?? []);
    if (!isAlone) this.#chains.set(source, chain);
    while (chain.length < needed) chain.push(this.#addDummy(chain.at(-1) ?? source, sourceOffset));
    const dummyNodes = chain.slice(0, Math.max(0, needed));
    const last = dummyNodes.at(-1);
    this.#addSegment(last ?? source, target, last === undefined ? sourceOffset : 0, targetOffset);
    return dummyNodes;
  }

  finish(dummyNodes: readonly (readonly number[])[]): LayeredGraph {
    const layerCount = this.#layerOf.reduce((most, layer) => Math.max(most, layer), -1) + 1;
    const layers: number[][] = Array.from({ length: layerCount }, () => []);
    this.#layerOf.forEach((layer, item) => layers[layer]?.push(item));
    return {
      nodeCount: this.#nodeCount,
      layerOf: Int32Array.from(this.#layerOf),
      layers,
      above: this.#above,
      below: this.#below,
      skew: this.#skew,
      dummyNodes,
    };
  }

  #getLayer(item: number): number {
    return this.#layerOf[item] ?? 0;
  }

  #addDummy(above: number, offset: number): number {
    const dummy = this.#layerOf.length;
    this.#layerOf.push(this.#getLayer(above) + 1);
    this.#above.push([]);
    this.#below.push([]);
    this.#addSegment(above, dummy, above < this.#nodeCount ? offset : 0, 0);
    return dummy;
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

// ---- Order within layers

type LayerOrder = readonly (readonly number[])[];

const MAX_SWEEPS = 16;
/** Stop after this many sweeps without an improvement. */
const MAX_IDLE_SWEEPS = 4;
/** Graphs with more items get fewer sweeps. */
const LARGE_GRAPH_ITEMS = 4000;
const MAX_LARGE_GRAPH_SWEEPS = 4;

/** Return the items of each layer from left to right, with few edge crossings. */
export function orderLayers(layered: LayeredGraph): LayerOrder {
  let order: LayerOrder = getInitialOrder(layered);
  let [best, fewest] = [order, countCrossings(order, layered)];
  const isLarge = layered.layerOf.length > LARGE_GRAPH_ITEMS;
  const sweeps = isLarge ? MAX_LARGE_GRAPH_SWEEPS : MAX_SWEEPS;
  for (let sweep = 0, idle = 0; sweep < sweeps && idle < MAX_IDLE_SWEEPS && fewest > 0; sweep++) {
    order = sweep % 2 === 0 ? sweepDown(order, layered) : sweepUp(order, layered);
    const crossings = countCrossings(order, layered);
    idle = crossings < fewest ? 0 : idle + 1;
    if (crossings < fewest) [best, fewest] = [order, crossings];
  }
  return best;
}

/** Depth-first order keeps connected items together. */
function getInitialOrder({ layers, layerOf, below, above }: LayeredGraph): number[][] {
  const order: number[][] = layers.map(() => []);
  const isVisited = new Uint8Array(layerOf.length);
  for (let start = 0; start < layerOf.length; start++) {
    const stack = above[start]?.length === 0 ? [start] : [];
    for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
      if (isVisited[item]) continue;
      isVisited[item] = 1;
      order[layerOf[item] ?? 0]?.push(item);
      for (const next of [...(below[item] ?? [])].reverse()) if (!isVisited[next]) stack.push(next);
    }
  }
  return order;
}

function sweepDown(order: LayerOrder, { above }: LayeredGraph): number[][] {
  const sorted: number[][] = [];
  for (const layer of order) sorted.push(sortByBarycenter(layer, sorted.at(-1) ?? [], above));
  return sorted;
}

function sweepUp(order: LayerOrder, { below }: LayeredGraph): number[][] {
  const sorted: number[][] = [];
  for (const layer of [...order].reverse())
    sorted.push(sortByBarycenter(layer, sorted.at(-1) ?? [], below));
  return sorted.reverse();
}

/** Sort items by the mean position of their neighbors; items without neighbors keep their place. */
function sortByBarycenter(
  layer: readonly number[],
  neighborLayer: readonly number[],
  neighbors: LayeredGraph['above'],
): number[] {
  const positions = new Map(neighborLayer.map((item, position) => [item, position]));
  const barycenters = new Map<number, number>();
  for (const item of layer) {
    const found = (neighbors[item] ?? []).flatMap((other) => positions.get(other) ?? []);
    if (found.length === 0) continue;
    barycenters.set(item, found.reduce((sum, position) => sum + position, 0) / found.length);
  }
  const moving = layer
    .filter((item) => barycenters.has(item))
    .sort((a, b) => (barycenters.get(a) ?? 0) - (barycenters.get(b) ?? 0));
  let next = 0;
  return layer.map((item) => (barycenters.has(item) ? (moving[next++] ?? item) : item));
}

function countCrossings(order: LayerOrder, { below }: LayeredGraph): number {
  let crossings = 0;
  for (let layer = 0; layer + 1 < order.length; layer++)
    crossings += countLayerCrossings(order[layer] ?? [], order[layer + 1] ?? [], below);
  return crossings;
}

/** Count crossings between two layers in O(n log n) with a Fenwick tree over the lower layer. */
function countLayerCrossings(
  upper: readonly number[],
  lower: readonly number[],
  below: LayeredGraph['below'],
): number {
  const positions = new Map(lower.map((item, position) => [item, position]));
  const tree = new Int32Array(lower.length + 1);
  let [crossings, added] = [0, 0];
  for (const item of upper) {
    const targets = (below[item] ?? []).flatMap((other) => positions.get(other) ?? []);
    for (const position of targets) crossings += added - sumFenwick(tree, position);
    for (const position of targets) addFenwick(tree, position);
    added += targets.length;
  }
  return crossings;
}

function addFenwick(tree: Int32Array, position: number): void {
  for (let index = position + 1; index < tree.length; index += index & -index)
    tree[index] = (tree[index] ?? 0) + 1;
}

function sumFenwick(tree: Int32Array, position: number): number {
  let sum = 0;
  for (let index = position + 1; index > 0; index -= index & -index) sum += tree[index] ?? 0;
  return sum;
}
