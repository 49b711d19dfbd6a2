import type { Span } from '../types';
import { isBands, MAIN, MEDIAN, type Spread, type SpreadContent, type SpreadView } from './types';

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
/** Tails further out than so many times the distance of the next band are far. */
const TAIL = 2.2;
/** A step that spreads so many times as wide as three in four of them is an outlier. */
const MUCH_WIDER = 2.5;
/** Where all of it is at most so many times as wide as its core, all of it is shown. */
const HARDLY_WIDER = 1.6;

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
  // Of several runs in one chart only the main band is drawn.
  const ends = view.mode === 'together' && spreads.length > 1 ? MAIN : ([0, 8] as const);
  const reaches = spreads.flatMap((spread) => reachesOf(ninesWithin(spread, steps), ends));
  const shown = view.ignoreOutliers ? withoutOutliers(reaches) : reaches;
  const all = shown.flatMap(({ low, high }) => [low, high]);
  const span = spanOf([Float64Array.from(log ? all.filter(isAbove) : all)]);
  return span ? withRoom(span, log) : [0, 1];
}

/** Where the bands of one step begin and end, and where they do without their far tails. */
interface BandReach {
  readonly low: number;
  readonly high: number;
  readonly near: Span;
}

function reachesOf(nines: Float64Array, [first, last]: readonly [number, number]): BandReach[] {
  const reaches: BandReach[] = [];
  for (let at = 0; at < nines.length; at += 9) {
    const value = (number: number): number => nines[at + number] ?? NaN;
    const [low, high, middle] = [value(first), value(last), value(MEDIAN)];
    const below = middle - TAIL * (middle - value(1));
    const above = middle + TAIL * (value(7) - middle);
    if (Number.isFinite(low) && Number.isFinite(high))
      reaches.push({ low, high, near: [Math.max(low, below), Math.min(high, above)] });
  }
  return reaches;
}

/** Without tails of a few numbers, and without steps that spread much wider than most. */
function withoutOutliers(reaches: readonly BandReach[]): { low: number; high: number }[] {
  const widths = reaches.map(({ near: [low, high] }) => high - low).sort((a, b) => a - b);
  const most = MUCH_WIDER * (widths[Math.floor(widths.length * 0.75)] ?? 0);
  const usual = reaches.filter(({ near: [low, high] }) => high - low <= most);
  const near = usual.map(({ near: [low, high] }) => ({ low, high }));
  const [all, core] = [widthOf(reaches), widthOf(near)];
  return core === 0 || all <= HARDLY_WIDER * core ? [...reaches] : near;
}

function widthOf(reaches: readonly { readonly low: number; readonly high: number }[]): number {
  const span = spanOf([Float64Array.from(reaches.flatMap(({ low, high }) => [low, high]))]);
  return span ? span[1] - span[0] : 0;
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
