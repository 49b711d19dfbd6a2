import type { Rows } from './rows';
import { spread, type Wish } from './spread';
import { type Block, SIDE_GAP } from './types';

const SWEEPS = 12;
/** How much a link wants to be straight: along the longest way, between two bends, otherwise. */
const STRAIGHT = { spine: 8, bends: 4, other: 1 };
const FIRM = 10_000;
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
      const wishes = row.map((item) => wishOf(item, neighbours[item] ?? [], placed, spine));
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
): Wish {
  if (neighbours.length === 0) return { at: placed[item] ?? 0, weight: 0.01 };
  const pulls = neighbours.map((other) => ({
    at: placed[other] ?? 0,
    weight: spine.weightOf(item, other),
  }));
  const strongest = pulls.reduce((most, pull) => Math.max(most, pull.weight), 0);
  // Who is in the way of a straight line makes room, and the line hardly any.
  return { at: medianOf(pulls), weight: strongest === STRAIGHT.spine ? FIRM : strongest };
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
  readonly #next: Int32Array;
  readonly #before: Int32Array;
  readonly #nodes: number;

  constructor({ nodes, rowOf, above, below, rows }: Rows) {
    this.#nodes = nodes;
    this.#before = longest(rows, above, rowOf, nodes);
    this.#next = longest([...rows].reverse(), below, rowOf, nodes);
  }

  weightOf(one: number, other: number): number {
    const isSpine =
      (this.#next[one] === other && this.#before[other] === one) ||
      (this.#next[other] === one && this.#before[one] === other);
    if (isSpine) return STRAIGHT.spine;
    return one >= this.#nodes && other >= this.#nodes ? STRAIGHT.bends : STRAIGHT.other;
  }
}

/** For each item the neighbour over which most nodes lead to it; bends are no nodes. */
function longest(
  rows: Rows['rows'],
  neighbours: Rows['above'],
  rowOf: Int32Array,
  nodes: number,
): Int32Array {
  const through = new Int32Array(rowOf.length).fill(-1);
  const length = new Int32Array(rowOf.length);
  for (const row of rows) {
    for (const item of row) {
      let most = -1;
      for (const other of neighbours[item] ?? []) {
        if ((length[other] ?? 0) <= most) continue;
        most = length[other] ?? 0;
        through[item] = other;
      }
      length[item] = Math.max(0, most) + (item < nodes ? 1 : 0);
    }
  }
  return through;
}
