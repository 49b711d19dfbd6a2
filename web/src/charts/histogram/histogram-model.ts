import type { AxisFormat, NumberArray, NumberRange } from '../types';

/** The shares, in percent, that nine values of a histogram stand for. */
export const PERCENTILES = [0, 6.68, 15.87, 30.85, 50, 69.15, 84.13, 93.32, 100] as const;
export const MEDIAN_INDEX = 4;
/** The two of the nine values that most of the numbers lie between. */
export const MAIN_BAND = [2, 6] as const;

/** How numbers were spread, again and again: histograms on one grid, and nine values of each. */
export interface HistogramSeries {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  /** Where each histogram stands on the axis of steps; rises. */
  readonly x: Float64Array;
  /** Counts in the bins of the grid, one histogram after the other. */
  readonly counts: NumberArray;
  /** One histogram's nine values after the other's; NaN where it counted nothing. */
  readonly percentiles: Float64Array;
}

/** Several of them on one grid, so that they can be compared. */
export interface HistogramData {
  /** The edges of the bins. */
  readonly binEdges: Float64Array;
  readonly series: readonly HistogramSeries[];
}

/**
 * One ridge behind the other; lines over each other; counts as colours; bands between percentiles, for
 * each by itself or for all together.
 */
export type HistogramMode = 'offset' | 'overlay' | 'heat' | 'bands' | 'together';

/** What is seen of the steps and of the values; null shows all. */
export interface HistogramViewport {
  readonly steps: NumberRange | null;
  readonly values: NumberRange | null;
}

export interface HistogramViewOptions extends HistogramViewport {
  readonly mode: HistogramMode;
  /** What the axis of steps counts. */
  readonly format: AxisFormat;
  /** Counts, or with bands values, on a logarithmic scale. */
  readonly log: boolean;
  /** Whether bands that reach far for a few steps or numbers only do not decide how high a chart is. */
  readonly ignoreOutliers: boolean;
}

/** A histogram that is pointed at, and the bin of it. */
export interface HistogramPoint {
  /** Which of the spreads. */
  readonly seriesIndex: number;
  /** Which of its histograms. */
  readonly index: number;
  /** null where no value is pointed at. */
  readonly value: number | null;
}

/** True where values lie along the foot of the chart, and not along its side. */
export function hasHorizontalValues(mode: HistogramMode): boolean {
  return mode === 'offset' || mode === 'overlay';
}

export function isPercentileMode(mode: HistogramMode): boolean {
  return mode === 'bands' || mode === 'together';
}

/** From where to where the axes of a chart reach. */
export interface HistogramExtents {
  readonly steps: NumberRange;
  readonly values: NumberRange;
  /** The largest count that is drawn. */
  readonly maxCount: number;
  /** False where there is nothing that a logarithmic scale could show. */
  readonly isLog: boolean;
}

/** Room above and below bands, in parts of what they span. */
const BAND_PADDING = 0.04;
/** Tails further out than so many times the distance of the next band are far. */
const TAIL_FACTOR = 2.2;
/** A step that spreads so many times as wide as three in four of them is an outlier. */
const OUTLIER_STEP_FACTOR = 2.5;
/** Where all of it is at most so many times as wide as its core, all of it is shown. */
const SHOW_ALL_FACTOR = 1.6;

export function computeExtents(
  { binEdges, series }: HistogramData,
  view: HistogramViewOptions,
): HistogramExtents {
  const steps = view.steps ?? findFiniteRange(series.map(({ x }) => x)) ?? [0, 1];
  const most = series.reduce((most, spread) => Math.max(most, findMaxCount(spread.counts)), 0);
  const log =
    view.log &&
    (!isPercentileMode(view.mode) ||
      series.some(({ percentiles }) => percentiles.some(isPositive)));
  return {
    steps,
    values: computeValueRange({ binEdges, series }, view, log, steps),
    maxCount: most,
    isLog: log,
  };
}

function computeValueRange(
  { binEdges, series }: HistogramData,
  view: HistogramViewOptions,
  log: boolean,
  steps: NumberRange,
): NumberRange {
  if (view.values && !(log && isPercentileMode(view.mode) && view.values[0] <= 0))
    return view.values;
  if (!isPercentileMode(view.mode)) return [binEdges[0] ?? 0, binEdges.at(-1) ?? 1];
  // Of several runs in one chart only the main band is drawn.
  const ends = view.mode === 'together' && series.length > 1 ? MAIN_BAND : ([0, 8] as const);
  const reaches = series.flatMap((spread) => listBandRanges(slicePercentiles(spread, steps), ends));
  const shown = view.ignoreOutliers ? dropOutliers(reaches) : reaches;
  const all = shown.flatMap(({ low, high }) => [low, high]);
  const span = findFiniteRange([Float64Array.from(log ? all.filter(isPositive) : all)]);
  return span ? padRange(span, log) : [0, 1];
}

/** Where the bands of one step begin and end, and where they do without their far tails. */
interface BandRange {
  readonly low: number;
  readonly high: number;
  readonly near: NumberRange;
}

function listBandRanges(
  nines: Float64Array,
  [first, last]: readonly [number, number],
): BandRange[] {
  const reaches: BandRange[] = [];
  for (let at = 0; at < nines.length; at += 9) {
    const value = (number: number): number => nines[at + number] ?? NaN;
    const [low, high, middle] = [value(first), value(last), value(MEDIAN_INDEX)];
    const below = middle - TAIL_FACTOR * (middle - value(1));
    const above = middle + TAIL_FACTOR * (value(7) - middle);
    if (Number.isFinite(low) && Number.isFinite(high))
      reaches.push({ low, high, near: [Math.max(low, below), Math.min(high, above)] });
  }
  return reaches;
}

/** Without tails of a few numbers, and without steps that spread much wider than most. */
function dropOutliers(reaches: readonly BandRange[]): { low: number; high: number }[] {
  const widths = reaches.map(({ near: [low, high] }) => high - low).sort((a, b) => a - b);
  const most = OUTLIER_STEP_FACTOR * (widths[Math.floor(widths.length * 0.75)] ?? 0);
  const usual = reaches.filter(({ near: [low, high] }) => high - low <= most);
  const near = usual.map(({ near: [low, high] }) => ({ low, high }));
  const [all, core] = [getTotalWidth(reaches), getTotalWidth(near)];
  return core === 0 || all <= SHOW_ALL_FACTOR * core ? [...reaches] : near;
}

function getTotalWidth(
  reaches: readonly { readonly low: number; readonly high: number }[],
): number {
  const span = findFiniteRange([
    Float64Array.from(reaches.flatMap(({ low, high }) => [low, high])),
  ]);
  return span ? span[1] - span[0] : 0;
}

/** The values of what is seen of the steps; those just beyond its ends are drawn to as well. */
function slicePercentiles(
  { x, percentiles }: HistogramSeries,
  [start, stop]: NumberRange,
): Float64Array {
  let first = 0;
  let end = x.length;
  while (first < end - 1 && (x[first + 1] ?? 0) < start) first++;
  while (end > first + 1 && (x[end - 2] ?? 0) > stop) end--;
  return percentiles.subarray(first * 9, end * 9);
}

function padRange([low, high]: NumberRange, log: boolean): NumberRange {
  if (log) return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
  const room = low === high ? Math.abs(low) / 10 || 0.5 : (high - low) * BAND_PADDING;
  return [low - room, high + room];
}

const isPositive = (value: number): boolean => value > 0 && value < Infinity;

/** The least and the greatest of all finite numbers in some columns. */
export function findFiniteRange(columns: readonly Float64Array[]): NumberRange | null {
  let [low, high] = [Infinity, -Infinity];
  for (const column of columns)
    for (const value of column) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  return low <= high ? [low, high] : null;
}

function findMaxCount(rows: ArrayLike<number>): number {
  let most = 0;
  for (let at = 0; at < rows.length; at++) {
    const count = rows[at] ?? 0;
    if (count > most && count < Infinity) most = count;
  }
  return most;
}

/** A count as a part of the largest, from 0 to 1. */
export function makeCountScale(most: number, log: boolean): (count: number) => number {
  if (!(most > 0)) return () => 0;
  // A count below one is no less there than one: it came about by spreading a bucket over bins.
  const full = Math.log1p(most);
  return log
    ? (count) => (count > 0 ? Math.log1p(count) / full : 0)
    : (count) => (count > 0 ? count / most : 0);
}
