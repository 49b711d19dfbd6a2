import type { Span } from '../types';
import { isBands, type Spread, type SpreadContent, type SpreadView } from './types';

/** From where to where the axes of a chart reach. */
export interface Ends {
  readonly steps: Span;
  readonly values: Span;
  /** The largest count that is drawn. */
  readonly most: number;
  /** False where there is nothing that a logarithmic scale could show. */
  readonly log: boolean;
}

/** Room above and below bands, in parts of what they span. */
const ROOM = 0.04;

export function findEnds({ grid, spreads }: SpreadContent, view: SpreadView): Ends {
  const steps = view.steps ?? spanOf(spreads.map(({ x }) => x)) ?? [0, 1];
  const most = spreads.reduce((most, spread) => Math.max(most, largest(spread.rows)), 0);
  const log = view.log && (!isBands(view.mode) || spreads.some(({ nine }) => nine.some(isAbove)));
  return { steps, values: findValues({ grid, spreads }, view, log, steps), most, log };
}

function findValues(
  { grid, spreads }: SpreadContent,
  view: SpreadView,
  log: boolean,
  steps: Span,
): Span {
  if (view.values && !(log && isBands(view.mode) && view.values[0] <= 0)) return view.values;
  if (!isBands(view.mode)) return [grid[0] ?? 0, grid.at(-1) ?? 1];
  const seen = spreads.map((spread) => ninesWithin(spread, steps));
  const span = spanOf(log ? seen.map((nine) => nine.filter(isAbove)) : seen);
  return span ? withRoom(span, log) : [0, 1];
}

/** The values of what is seen of the steps; those just beyond its ends are drawn to as well. */
function ninesWithin({ x, nine }: Spread, [start, stop]: Span): Float64Array {
  let first = 0;
  let end = x.length;
  while (first < end - 1 && (x[first + 1] ?? 0) < start) first++;
  while (end > first + 1 && (x[end - 2] ?? 0) > stop) end--;
  return nine.subarray(first * 9, end * 9);
}

function withRoom([low, high]: Span, log: boolean): Span {
  if (log) return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
  const room = low === high ? Math.abs(low) / 10 || 0.5 : (high - low) * ROOM;
  return [low - room, high + room];
}

const isAbove = (value: number): boolean => value > 0 && value < Infinity;

/** The least and the greatest of all finite numbers in some columns. */
export function spanOf(columns: readonly Float64Array[]): Span | null {
  let [low, high] = [Infinity, -Infinity];
  for (const column of columns)
    for (const value of column) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  return low <= high ? [low, high] : null;
}

function largest(rows: ArrayLike<number>): number {
  let most = 0;
  for (let at = 0; at < rows.length; at++) {
    const count = rows[at] ?? 0;
    if (count > most && count < Infinity) most = count;
  }
  return most;
}

/** A count as a part of the largest, from 0 to 1. */
export function makeLevel(most: number, log: boolean): (count: number) => number {
  if (!(most > 0)) return () => 0;
  // A count below one is no less there than one: it came about by spreading a bucket over bins.
  const full = Math.log1p(most);
  return log
    ? (count) => (count > 0 ? Math.log1p(count) / full : 0)
    : (count) => (count > 0 ? count / most : 0);
}
