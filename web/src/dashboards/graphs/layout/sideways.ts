import { joinKey, type Rows } from './rows';
import { spread, type Wish } from './spread';
import { type Block, SIDE_GAP } from './types';

const SWEEPS = 12;
/** How much a link wants to be straight: along the longest way, between two bends, otherwise. */
const STRAIGHT = { spine: 8, bends: 4, other: 1 };
/** How little a line gives way to who is in its way: the longest of all, and one of its own. */
const FIRM = { longest: 10_000, long: 100 };
const BEND_WIDTH = 6;

/** The middle of each item along its row: links are straight where they can be. */
export function placeSideways(
  blocks: readonly Block[],
  rows: Rows,
  order: readonly (readonly number[])[],
): Float64Array {
  const widths = rows.rowOf.map((_, item) => blocks[item]?.width ?? BEND_WIDTH);
  const placed = new Float64Array(rows.rowOf.length);
  const gaps = order.map((row) => gapsOf(row, widths));
  order.forEach((row, at) => pack(row, gaps[at] ?? [], placed));
  const spine = new Spine(rows);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (let step = 0; step < order.length; step++) {
      const at = isDown ? step : order.length - 1 - step;
      const row = order[at] ?? [];
      const neighbours = isDown ? rows.above : rows.below;
      const wishes = row.map((item) => wishOf(item, neighbours[item] ?? [], placed, spine, isDown));
      spread(wishes, gaps[at] ?? []).forEach((x, place) => (placed[row[place] ?? 0] = x));
    }
  }
  return placed.map(Math.round);
}

function gapsOf(row: readonly number[], widths: Int32Array): number[] {
  return row.slice(1).map((item, at) => {
    const before = row[at] ?? 0;
    return ((widths[item] ?? 0) + (widths[before] ?? 0)) / 2 + SIDE_GAP;
  });
}

/** Side by side about the middle. */
function pack(row: readonly number[], gaps: readonly number[], placed: Float64Array): void {
  let at = -gaps.reduce((sum, gap) => sum + gap, 0) / 2;
  row.forEach((item, place) => {
    placed[item] = at;
    at += gaps[place] ?? 0;
  });
}

/** In the middle of its neighbours, each counted as much as its link wants to be straight. */
function wishOf(
  item: number,
  neighbours: readonly number[],
  placed: Float64Array,
  spine: Spine,
  isDown: boolean,
): Wish {
  if (neighbours.length === 0) return { at: placed[item] ?? 0, weight: 0.01 };
  let firm = 0;
  const pulls = neighbours.map((other) => {
    const [upper, lower] = isDown ? [other, item] : [item, other];
    const skew = spine.skewOf(upper, lower);
    firm = Math.max(firm, spine.firmnessOf(upper, lower));
    return {
      at: (placed[other] ?? 0) + (isDown ? skew : -skew),
      weight: spine.weightOf(upper, lower),
    };
  });
  return { at: medianOf(pulls), weight: firm };
}

/** A mean would bend every straight line a little towards whatever else is linked to it. */
function medianOf(pulls: Wish[]): number {
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
class Spine {
  readonly #rows: Rows;
  readonly #before: Ways;
  readonly #next: Ways;
  /** How long the longest way is that leaves each row. */
  readonly #most: Int32Array;

  constructor(rows: Rows) {
    this.#rows = rows;
    this.#before = longest(rows.rows, rows.above, rows);
    this.#next = longest([...rows.rows].reverse(), rows.below, rows);
    this.#most = new Int32Array(rows.rows.length);
    rows.below.forEach((lowers, upper) => {
      const row = rows.rowOf[upper] ?? 0;
      for (const lower of lowers)
        this.#most[row] = Math.max(this.#most[row] ?? 0, this.#lengthOf(upper, lower));
    });
  }

  weightOf(upper: number, lower: number): number {
    if (this.#isSpine(upper, lower)) return STRAIGHT.spine;
    const { nodes } = this.#rows;
    return upper >= nodes && lower >= nodes ? STRAIGHT.bends : STRAIGHT.other;
  }

  firmnessOf(upper: number, lower: number): number {
    if (!this.#isSpine(upper, lower)) return this.weightOf(upper, lower);
    const most = this.#most[this.#rows.rowOf[upper] ?? 0] ?? 0;
    return this.#lengthOf(upper, lower) === most ? FIRM.longest : FIRM.long;
  }

  skewOf(upper: number, lower: number): number {
    return this.#rows.skew.get(joinKey(upper, lower)) ?? 0;
  }

  #isSpine(upper: number, lower: number): boolean {
    return this.#next.through[upper] === lower && this.#before.through[lower] === upper;
  }

  #lengthOf(upper: number, lower: number): number {
    return (this.#before.length[upper] ?? 0) + (this.#next.length[lower] ?? 0);
  }
}

/** For each item the neighbour over which most nodes lead to it, and how many that are. */
interface Ways {
  readonly through: Int32Array;
  readonly length: Int32Array;
}

function longest(order: Rows['rows'], neighbours: Rows['above'], { rowOf, nodes }: Rows): Ways {
  const through = new Int32Array(rowOf.length).fill(-1);
  const length = new Int32Array(rowOf.length);
  for (const item of order.flat()) {
    let most = -1;
    for (const other of neighbours[item] ?? []) {
      if ((length[other] ?? 0) <= most) continue;
      most = length[other] ?? 0;
      through[item] = other;
    }
    // Bends are no nodes: a way around is not longer for it.
    length[item] = Math.max(0, most) + (item < nodes ? 1 : 0);
  }
  return { through, length };
}
