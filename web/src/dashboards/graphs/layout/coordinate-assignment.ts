import { type LayeredGraph, segmentKey } from './layering';
import { type LayoutNode, NODE_GAP_PX } from './layout-types';

/** An item of a row that would like to be somewhere, and how much. */
export interface DesiredPosition {
  readonly at: number;
  readonly weight: number;
}

/**
 * The places nearest to what is wished, in least squares, with at least `gaps[i]` between the
 * middles of item i and the next one: the pool of adjacent violators.
 */
export function resolveOverlaps(
  wishes: readonly DesiredPosition[],
  gaps: readonly number[],
): number[] {
  const offsets = [0];
  for (let at = 1; at < wishes.length; at++)
    offsets.push((offsets[at - 1] ?? 0) + (gaps[at - 1] ?? 0));
  const pools: { sum: number; weight: number; count: number }[] = [];
  wishes.forEach(({ at, weight }, item) => {
    let pool = { sum: (at - (offsets[item] ?? 0)) * weight, weight, count: 1 };
    for (let last = pools.at(-1); last && poolMean(last) >= poolMean(pool); last = pools.at(-1)) {
      pool = {
        sum: last.sum + pool.sum,
        weight: last.weight + pool.weight,
        count: last.count + pool.count,
      };
      pools.pop();
    }
    pools.push(pool);
  });
  const placed = pools.flatMap((pool) => new Array<number>(pool.count).fill(poolMean(pool)));
  return placed.map((place, item) => place + (offsets[item] ?? 0));
}

function poolMean({ sum, weight }: { readonly sum: number; readonly weight: number }): number {
  return sum / weight;
}

const COORDINATE_SWEEPS = 12;
/** How much a link wants to be straight: along the longest way, between two bends, otherwise. */
const STRAIGHTNESS_WEIGHTS = { spine: 8, bends: 4, other: 1 };
/** How little a line gives way to who is in its way: the longest of all, and one of its own. */
const LONGEST_PATH_WEIGHTS = { longest: 10_000, long: 100 };
const DUMMY_WIDTH_PX = 6;

/** The middle of each item along its row: links are straight where they can be. */
export function assignCoordinates(
  blocks: readonly LayoutNode[],
  rows: LayeredGraph,
  order: readonly (readonly number[])[],
): Float64Array {
  const widths = rows.layerOf.map((_, item) => blocks[item]?.width ?? DUMMY_WIDTH_PX);
  const placed = new Float64Array(rows.layerOf.length);
  const gaps = order.map((row) => minimumGaps(row, widths));
  order.forEach((row, at) => packLayer(row, gaps[at] ?? [], placed));
  const spine = new LongestPaths(rows);
  for (let sweep = 0; sweep < COORDINATE_SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (let step = 0; step < order.length; step++) {
      const at = isDown ? step : order.length - 1 - step;
      const row = order[at] ?? [];
      const neighbours = isDown ? rows.above : rows.below;
      const wishes = row.map((item) =>
        desiredPosition(item, neighbours[item] ?? [], placed, spine, isDown),
      );
      resolveOverlaps(wishes, gaps[at] ?? []).forEach((x, place) => (placed[row[place] ?? 0] = x));
    }
  }
  return placed.map(Math.round);
}

function minimumGaps(row: readonly number[], widths: Int32Array): number[] {
  return row.slice(1).map((item, at) => {
    const before = row[at] ?? 0;
    return ((widths[item] ?? 0) + (widths[before] ?? 0)) / 2 + NODE_GAP_PX;
  });
}

/** Side by side about the middle. */
function packLayer(row: readonly number[], gaps: readonly number[], placed: Float64Array): void {
  let at = -gaps.reduce((sum, gap) => sum + gap, 0) / 2;
  row.forEach((item, place) => {
    placed[item] = at;
    at += gaps[place] ?? 0;
  });
}

/** In the middle of its neighbours, each counted as much as its link wants to be straight. */
function desiredPosition(
  item: number,
  neighbours: readonly number[],
  placed: Float64Array,
  spine: LongestPaths,
  isDown: boolean,
): DesiredPosition {
  if (neighbours.length === 0) return { at: placed[item] ?? 0, weight: 0.01 };
  let firm = 0;
  const pulls = neighbours.map((other) => {
    const [upper, lower] = isDown ? [other, item] : [item, other];
    const skew = spine.skewOf(upper, lower);
    firm = Math.max(firm, spine.stiffnessOf(upper, lower));
    return {
      at: (placed[other] ?? 0) + (isDown ? skew : -skew),
      weight: spine.weightOf(upper, lower),
    };
  });
  return { at: weightedMedian(pulls), weight: firm };
}

/** A mean would bend every straight line a little towards whatever else is linked to it. */
function weightedMedian(pulls: DesiredPosition[]): number {
  const half = pulls.reduce((sum, { weight }) => sum + weight, 0) / 2;
  pulls.sort((a, b) => a.at - b.at);
  let sum = 0;
  for (const [place, { at, weight }] of pulls.entries()) {
    sum += weight;
    if (sum > half) return at;
    if (sum === half) return (at + (pulls[place + 1]?.at ?? at)) / 2;
  }
  return 0;
}

/** The longest ways through the graph, which are to be straight: what it is about. */
class LongestPaths {
  readonly #layered: LayeredGraph;
  readonly #before: LongestPathTable;
  readonly #next: LongestPathTable;
  /** How long the longest way is that leaves each row. */
  readonly #maxLength: Int32Array;

  constructor(rows: LayeredGraph) {
    this.#layered = rows;
    this.#before = computeLongestPaths(rows.layers, rows.above, rows);
    this.#next = computeLongestPaths([...rows.layers].reverse(), rows.below, rows);
    this.#maxLength = new Int32Array(rows.layers.length);
    rows.below.forEach((lowers, upper) => {
      const row = rows.layerOf[upper] ?? 0;
      for (const lower of lowers)
        this.#maxLength[row] = Math.max(this.#maxLength[row] ?? 0, this.#lengthOf(upper, lower));
    });
  }

  weightOf(upper: number, lower: number): number {
    if (this.#isOnLongestPath(upper, lower)) return STRAIGHTNESS_WEIGHTS.spine;
    const { nodeCount } = this.#layered;
    return upper >= nodeCount && lower >= nodeCount
      ? STRAIGHTNESS_WEIGHTS.bends
      : STRAIGHTNESS_WEIGHTS.other;
  }

  stiffnessOf(upper: number, lower: number): number {
    if (!this.#isOnLongestPath(upper, lower)) return this.weightOf(upper, lower);
    const most = this.#maxLength[this.#layered.layerOf[upper] ?? 0] ?? 0;
    return this.#lengthOf(upper, lower) === most
      ? LONGEST_PATH_WEIGHTS.longest
      : LONGEST_PATH_WEIGHTS.long;
  }

  skewOf(upper: number, lower: number): number {
    return this.#layered.skew.get(segmentKey(upper, lower)) ?? 0;
  }

  #isOnLongestPath(upper: number, lower: number): boolean {
    return this.#next.through[upper] === lower && this.#before.through[lower] === upper;
  }

  #lengthOf(upper: number, lower: number): number {
    return (this.#before.length[upper] ?? 0) + (this.#next.length[lower] ?? 0);
  }
}

/** For each item the neighbour over which most nodes lead to it, and how many that are. */
interface LongestPathTable {
  readonly through: Int32Array;
  readonly length: Int32Array;
}

function computeLongestPaths(
  order: LayeredGraph['layers'],
  neighbours: LayeredGraph['above'],
  { layerOf, nodeCount }: LayeredGraph,
): LongestPathTable {
  const through = new Int32Array(layerOf.length).fill(-1);
  const length = new Int32Array(layerOf.length);
  for (const item of order.flat()) {
    let most = -1;
    for (const other of neighbours[item] ?? []) {
      if ((length[other] ?? 0) <= most) continue;
      most = length[other] ?? 0;
      through[item] = other;
    }
    // Bends are no nodes: a way around is not longer for it.
    length[item] = Math.max(0, most) + (item < nodeCount ? 1 : 0);
  }
  return { through, length };
}
