/** The third phase of a layered layout: positions within the layers, so that edges are straight. */
import { type LayeredGraph, segmentKey } from './layering';
import { type LayoutNode, NODE_GAP_PX } from './layout-types';

const SWEEPS = 12;
const DUMMY_WIDTH_PX = 6;
/** Weights of a segment for the position of its ends. */
const STRAIGHTNESS = { longestPath: 8, betweenDummies: 4, other: 1 };
/** Resistance of items on a longest path against overlapping items. */
const STIFFNESS = { longestInLayer: 10_000, longestPath: 100 };
const UNCONNECTED_WEIGHT = 0.01;

interface DesiredPosition {
  readonly position: number;
  readonly weight: number;
}

/** Return the center of each item along its layer. */
export function assignCoordinates(
  nodes: readonly LayoutNode[],
  layered: LayeredGraph,
  order: readonly (readonly number[])[],
): Float64Array {
  const widths = layered.layerOf.map((_, item) => nodes[item]?.width ?? DUMMY_WIDTH_PX);
  const x = new Float64Array(layered.layerOf.length);
  const gaps = order.map((layer) => getMinimumGaps(layer, widths));
  order.forEach((layer, index) => packLayer(layer, gaps[index] ?? [], x));
  const longestPaths = new LongestPaths(layered);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    const neighbors = isDown ? layered.above : layered.below;
    for (let step = 0; step < order.length; step++) {
      const index = isDown ? step : order.length - 1 - step;
      const layer = order[index] ?? [];
      const desired = layer.map((item) =>
        getDesiredPosition(item, neighbors[item] ?? [], x, longestPaths, isDown),
      );
      resolveOverlaps(desired, gaps[index] ?? []).forEach(
        (position, place) => (x[layer[place] ?? 0] = position),
      );
    }
  }
  return x.map(Math.round);
}

/** Return the distances between the centers of neighboring items. */
function getMinimumGaps(layer: readonly number[], widths: Int32Array): number[] {
  return layer.slice(1).map((item, index) => {
    const previous = layer[index] ?? 0;
    return ((widths[item] ?? 0) + (widths[previous] ?? 0)) / 2 + NODE_GAP_PX;
  });
}

/** Put the items of a layer side by side, centered. */
function packLayer(layer: readonly number[], gaps: readonly number[], x: Float64Array): void {
  let position = -gaps.reduce((sum, gap) => sum + gap, 0) / 2;
  layer.forEach((item, index) => {
    x[item] = position;
    position += gaps[index] ?? 0;
  });
}

/**
 * Return the positions nearest to the desired ones, in least squares, with at least `gaps[i]`
 * between items i and i + 1 (pool adjacent violators algorithm).
 */
function resolveOverlaps(desired: readonly DesiredPosition[], gaps: readonly number[]): number[] {
  const offsets = [0];
  for (let item = 1; item < desired.length; item++)
    offsets.push((offsets[item - 1] ?? 0) + (gaps[item - 1] ?? 0));
  const pools: Pool[] = [];
  desired.forEach(({ position, weight }, item) => {
    let pool: Pool = { sum: (position - (offsets[item] ?? 0)) * weight, weight, count: 1 };
    for (let last = pools.at(-1); last && getMean(last) >= getMean(pool); last = pools.at(-1)) {
      pool = {
        sum: last.sum + pool.sum,
        weight: last.weight + pool.weight,
        count: last.count + pool.count,
      };
      pools.pop();
    }
    pools.push(pool);
  });
  const positions = pools.flatMap((pool) => new Array<number>(pool.count).fill(getMean(pool)));
  return positions.map((position, item) => position + (offsets[item] ?? 0));
}

interface Pool {
  readonly sum: number;
  readonly weight: number;
  readonly count: number;
}

function getMean({ sum, weight }: Pool): number {
  return sum / weight;
}

/** Return the weighted median of the neighbors, corrected by the skew of the segments. */
function getDesiredPosition(
  item: number,
  neighbors: readonly number[],
  x: Float64Array,
  longestPaths: LongestPaths,
  isDown: boolean,
): DesiredPosition {
  if (neighbors.length === 0) return { position: x[item] ?? 0, weight: UNCONNECTED_WEIGHT };
  let stiffness = 0;
  const candidates = neighbors.map((other) => {
    const [upper, lower] = isDown ? [other, item] : [item, other];
    const skew = longestPaths.getSkew(upper, lower);
    stiffness = Math.max(stiffness, longestPaths.getStiffness(upper, lower));
    return {
      position: (x[other] ?? 0) + (isDown ? skew : -skew),
      weight: longestPaths.getWeight(upper, lower),
    };
  });
  return { position: getWeightedMedian(candidates), weight: stiffness };
}

/** The mean would bend every straight line a little. */
function getWeightedMedian(candidates: DesiredPosition[]): number {
  const half = candidates.reduce((sum, { weight }) => sum + weight, 0) / 2;
  candidates.sort((a, b) => a.position - b.position);
  let sum = 0;
  for (const [index, { position, weight }] of candidates.entries()) {
    sum += weight;
    if (sum > half) return position;
    if (sum === half) return (position + (candidates[index + 1]?.position ?? position)) / 2;
  }
  return 0;
}

/** The longest paths through the graph, which are drawn as straight lines. */
class LongestPaths {
  readonly #layered: LayeredGraph;
  readonly #before: LongestPathTable;
  readonly #after: LongestPathTable;
  /** Length of the longest path that leaves each layer. */
  readonly #maxLength: Int32Array;

  constructor(layered: LayeredGraph) {
    this.#layered = layered;
    this.#before = computeLongestPaths(layered.layers, layered.above, layered);
    this.#after = computeLongestPaths([...layered.layers].reverse(), layered.below, layered);
    this.#maxLength = new Int32Array(layered.layers.length);
    layered.below.forEach((lowers, upper) => {
      const layer = layered.layerOf[upper] ?? 0;
      for (const lower of lowers)
        this.#maxLength[layer] = Math.max(
          this.#maxLength[layer] ?? 0,
          this.#getLength(upper, lower),
        );
    });
  }

  getWeight(upper: number, lower: number): number {
    if (this.#isOnLongestPath(upper, lower)) return STRAIGHTNESS.longestPath;
    const { nodeCount } = this.#layered;
    const isBetweenDummies = upper >= nodeCount && lower >= nodeCount;
    return isBetweenDummies ? STRAIGHTNESS.betweenDummies : STRAIGHTNESS.other;
  }

  getStiffness(upper: number, lower: number): number {
    if (!this.#isOnLongestPath(upper, lower)) return this.getWeight(upper, lower);
    const longest = this.#maxLength[this.#layered.layerOf[upper] ?? 0] ?? 0;
    return this.#getLength(upper, lower) === longest
      ? STIFFNESS.longestInLayer
      : STIFFNESS.longestPath;
  }

  getSkew(upper: number, lower: number): number {
    return this.#layered.skew.get(segmentKey(upper, lower)) ?? 0;
  }

  #isOnLongestPath(upper: number, lower: number): boolean {
    return this.#after.neighbor[upper] === lower && this.#before.neighbor[lower] === upper;
  }

  #getLength(upper: number, lower: number): number {
    return (this.#before.length[upper] ?? 0) + (this.#after.length[lower] ?? 0);
  }
}

/** For each item the neighbor on the longest path to it, and the number of nodes on that path. */
interface LongestPathTable {
  readonly neighbor: Int32Array;
  readonly length: Int32Array;
}

function computeLongestPaths(
  layers: LayeredGraph['layers'],
  neighbors: LayeredGraph['above'],
  { layerOf, nodeCount }: LayeredGraph,
): LongestPathTable {
  const neighbor = new Int32Array(layerOf.length).fill(-1);
  const length = new Int32Array(layerOf.length);
  for (const item of layers.flat()) {
    let longest = -1;
    for (const other of neighbors[item] ?? []) {
      if ((length[other] ?? 0) <= longest) continue;
      longest = length[other] ?? 0;
      neighbor[item] = other;
    }
    // Dummy nodes do not count: an edge that passes many layers is not a longer path.
    length[item] = Math.max(0, longest) + (item < nodeCount ? 1 : 0);
  }
  return { neighbor, length };
}
