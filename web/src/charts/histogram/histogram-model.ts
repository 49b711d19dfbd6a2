import type { AxisFormat, NumberArray, NumberRange } from '../types';

/** The percentiles that are stored for each histogram. */
export const PERCENTILES = [0, 6.68, 15.87, 30.85, 50, 69.15, 84.13, 93.32, 100] as const;
export const MEDIAN_INDEX = 4;
/** Indices of the percentiles at one standard deviation. */
export const MAIN_BAND = [2, 6] as const;

/** Histograms over steps, with common bins and nine percentiles each. */
export interface HistogramSeries {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  /** Position of each histogram on the step axis; sorted. */
  readonly x: Float64Array;
  /** Counts per bin, histogram by histogram. */
  readonly counts: NumberArray;
  /** Nine percentiles per histogram; NaN for empty ones. */
  readonly percentiles: Float64Array;
}

/** Several series with common bins. */
export interface HistogramData {
  readonly binEdges: Float64Array;
  readonly series: readonly HistogramSeries[];
}

/**
 * Ridges behind each other, overlaid lines, a heat map, or percentile bands: per series, or
 * together in one panel.
 */
export type HistogramMode = 'offset' | 'overlay' | 'heat' | 'bands' | 'together';

/** Visible steps and values; null shows all. */
export interface HistogramViewport {
  readonly steps: NumberRange | null;
  readonly values: NumberRange | null;
}

export interface HistogramViewOptions extends HistogramViewport {
  readonly mode: HistogramMode;
  /** Format of the step axis. */
  readonly format: AxisFormat;
  /** Logarithmic scale for counts or, with bands, for values. */
  readonly log: boolean;
  /** Exclude outliers from the value range of bands. */
  readonly ignoreOutliers: boolean;
}

/** A hovered histogram and value. */
export interface HistogramPoint {
  /** Index of the series. */
  readonly seriesIndex: number;
  /** Index of the histogram in the series. */
  readonly index: number;
  /** null if no value is hovered. */
  readonly value: number | null;
}

/** Return whether values are on the x axis. */
export function hasHorizontalValues(mode: HistogramMode): boolean {
  return mode === 'offset' || mode === 'overlay';
}

export function isPercentileMode(mode: HistogramMode): boolean {
  return mode === 'bands' || mode === 'together';
}

/** Ranges of the axes. */
export interface HistogramExtents {
  readonly steps: NumberRange;
  readonly values: NumberRange;
  readonly maxCount: number;
  /** False if there are no values for a logarithmic scale. */
  readonly isLog: boolean;
}

/** Padding above and below bands, as a fraction of their range. */
const BAND_PADDING = 0.04;
/** Tails are cut at this multiple of the distance from the median to the next band. */
const TAIL_FACTOR = 2.2;
/** A step is an outlier if it is wider than the third quartile by this factor. */
const OUTLIER_STEP_FACTOR = 2.5;
/** Outliers are shown if the full range is wider by at most this factor. */
const SHOW_ALL_FACTOR = 1.6;

export function computeExtents(
  { binEdges, series }: HistogramData,
  view: HistogramViewOptions,
): HistogramExtents {
  const steps = view.steps ?? findFiniteRange(series.map(({ x }) => x)) ?? [0, 1];
  const most = series.reduce((most, entry) => Math.max(most, findMaxCount(entry.counts)), 0);
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
  // With several series in a panel, only the main band is drawn.
  const ends = view.mode === 'together' && series.length > 1 ? MAIN_BAND : ([0, 8] as const);
  const reaches = series.flatMap((entry) => listBandRanges(slicePercentiles(entry, steps), ends));
  const shown = view.ignoreOutliers ? dropOutliers(reaches) : reaches;
  const all = shown.flatMap(({ low, high }) => [low, high]);
  const span = findFiniteRange([Float64Array.from(log ? all.filter(isPositive) : all)]);
  return span ? padRange(span, log) : [0, 1];
}

/** Range of the bands of a step, with and without long tails. */
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

/** Return ranges without long tails and without unusually wide steps. */
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

/** Return the percentiles of the visible steps and one step beyond each end. */
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
  const margin = low === high ? Math.abs(low) / 10 || 0.5 : (high - low) * BAND_PADDING;
  return [low - margin, high + margin];
}

const isPositive = (value: number): boolean => value > 0 && value < Infinity;

/** Return the range of the finite values of several columns. */
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

/** Return a scale from counts to 0..1. */
export function makeCountScale(most: number, log: boolean): (count: number) => number {
  if (!(most > 0)) return () => 0;
  // log1p: counts below one are valid, they result from splitting buckets over bins.
  const full = Math.log1p(most);
  return log
    ? (count) => (count > 0 ? Math.log1p(count) / full : 0)
    : (count) => (count > 0 ? count / most : 0);
}
