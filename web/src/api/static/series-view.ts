/** The series of a static export: reading, axes, smoothing and comparison with a baseline. */
import type {
  BaselineMode,
  ExportedSeries,
  ExportedTag,
  ExportedTagEntry,
  ExportedTagList,
  Smoothing,
  SmoothingKind,
} from '../schemas';

import type { ExportContents } from './static-transport';

export interface SeriesKey {
  readonly run: string;
  readonly tag: string;
}

/** Reads the series of an export. */
export class SeriesReader {
  readonly #contents: ExportContents;
  readonly #prefix: string;

  /** `prefix` is the start of the paths of the series. */
  constructor(contents: ExportContents, prefix: string) {
    this.#contents = contents;
    this.#prefix = prefix;
  }

  /** Return the series of some tags and runs; null is all runs. */
  async read(
    tags: readonly string[],
    runs: readonly string[] | null,
  ): Promise<readonly (readonly [SeriesKey, ExportedSeries])[]> {
    const selected = runs && new Set(runs);
    const seriesByTag = await Promise.all(tags.map((tag) => this.#readTag(tag)));
    return tags.flatMap((tag, index) =>
      (seriesByTag[index] ?? [])
        .filter(({ run }) => selected === null || selected.has(run))
        .map((series) => [{ run: series.run, tag }, series] as const),
    );
  }

  async #readIndex(): Promise<readonly ExportedTagEntry[]> {
    const { tags } = (await this.#contents.read(`${this.#prefix}series`)) as ExportedTagList;
    return tags;
  }

  async #readTag(tag: string): Promise<readonly ExportedSeries[]> {
    const entry = (await this.#readIndex()).find((one) => one.tag === tag);
    if (!entry) return [];
    const { series } = (await this.#contents.read(this.#prefix + entry.path)) as ExportedTag;
    return series;
  }
}

export function isSorted(column: Float64Array): boolean {
  return column.every((value, index) => index === 0 || value >= (column[index - 1] ?? NaN));
}

/** Return how many values of a sorted column are smaller than `x`. */
export function bisectLeft(column: Float64Array, x: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] ?? NaN) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return the row of the last value that is at most `x`; -1 if there is none. */
function findLastAtOrBefore(column: Float64Array, x: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] ?? NaN) <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Interpolate linearly between points; NaN outside of their range. */
export function interpolate(x: Float64Array, y: Float64Array, target: number): number {
  const row = findLastAtOrBefore(x, target);
  const [x0 = NaN, x1 = NaN] = [x[row], x[row + 1]];
  const [y0 = NaN, y1 = NaN] = [y[row], y[row + 1]];
  if (x0 === target) return y0;
  return y0 + ((target - x0) / (x1 - x0)) * (y1 - y0);
}

type SmoothingFunction = (value: Float64Array, step: Float64Array, amount: number) => Float64Array;

/**
 * Smooth values in their order; non-finite ones are kept. The server does the same with all points of
 * the log (`tracklight/index/series_query.py`).
 */
export function smooth(
  value: Float64Array,
  step: Float64Array,
  { kind, amount }: Smoothing,
): Float64Array {
  return isConstant(value) ? value : SMOOTHING_FUNCTIONS[kind](value, step, amount);
}

/** Constant values are not smoothed, so that they stay exact. */
function isConstant(value: Float64Array): boolean {
  const finite = value.filter(Number.isFinite);
  return finite.every((current) => current === finite[0]);
}

/** The exponential moving average of TensorBoard, with bias correction. */
function smoothEma(value: Float64Array, _: Float64Array, weight: number): Float64Array {
  let average = 0;
  let bias = 1;
  return value.map((current) => {
    if (!Number.isFinite(current)) return current;
    average = weight * average + (1 - weight) * current;
    bias *= weight;
    return bias > 1e-17 ? average / (1 - bias) : average;
  });
}

/** The weight of a point halves every `halfLife` steps. */
function smoothTimeEma(value: Float64Array, step: Float64Array, halfLife: number): Float64Array {
  let total = 0;
  let weight = 0;
  let previousStep = 0;
  return value.map((current, row) => {
    if (!Number.isFinite(current)) return current;
    const currentStep = step[row] ?? 0;
    const decay = weight === 0 ? 0 : 2 ** ((previousStep - currentStep) / halfLife);
    total = total * decay + current;
    weight = weight * decay + 1;
    previousStep = currentStep;
    return total / weight;
  });
}

function smoothMean(value: Float64Array, _: Float64Array, size: number): Float64Array {
  return applyWindow(value, size, (window) => window.reduce((a, b) => a + b, 0) / window.length);
}

function smoothMedian(value: Float64Array, _: Float64Array, size: number): Float64Array {
  return applyWindow(value, size, (window) => {
    const sorted = window.sort();
    const middle = sorted.length >> 1;
    const upper = sorted[middle] ?? NaN;
    return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
  });
}

function smoothGaussian(value: Float64Array, _: Float64Array, deviation: number): Float64Array {
  const radius = Math.ceil(4 * deviation);
  return value.map((current, row) => {
    if (!Number.isFinite(current)) return current;
    let total = 0;
    let weights = 0;
    const end = Math.min(row + radius + 1, value.length);
    for (let near = Math.max(0, row - radius); near < end; near++) {
      const other = value[near] ?? NaN;
      if (!Number.isFinite(other)) continue;
      const weight = Math.exp(-0.5 * ((near - row) / deviation) ** 2);
      total += weight * other;
      weights += weight;
    }
    return total / weights;
  });
}

/** Aggregate the finite values of a window around each point; windows are smaller at the ends. */
function applyWindow(
  value: Float64Array,
  size: number,
  aggregate: (window: Float64Array) => number,
): Float64Array {
  const length = Math.round(size);
  const before = length >> 1;
  const after = (length - 1) >> 1;
  return value.map((current, row) => {
    if (!Number.isFinite(current)) return current;
    const window = value.slice(Math.max(0, row - before), row + after + 1);
    return aggregate(window.filter(Number.isFinite));
  });
}

const SMOOTHING_FUNCTIONS: Readonly<Record<SmoothingKind, SmoothingFunction>> = {
  ema: smoothEma,
  time_ema: smoothTimeEma,
  mean: smoothMean,
  median: smoothMedian,
  gaussian: smoothGaussian,
};

/** A series on an axis: columns in the order of `x` or, if `x` is a metric, of steps. */
export interface SeriesView {
  readonly series: ExportedSeries;
  readonly step: Float64Array;
  readonly wallTime: Float64Array;
  readonly x: Float64Array;
  readonly value: Float64Array;
  /** The same array as `value` without smoothing. */
  readonly smoothed: Float64Array;
  /** Whether `x` is sorted. */
  readonly isSorted: boolean;
  /** Wall time of the first point. */
  readonly startTime: number;
}

/** Put a series on an axis and smooth it; `metric` is the series of the axis if that is a metric. */
export function applyView(
  series: ExportedSeries,
  axis: string,
  smoothing: Smoothing | null,
  metric: ExportedSeries | null,
): SeriesView {
  const value = Float64Array.from(series.value);
  const x = computeX(series, axis, metric);
  const curve = {
    series,
    step: series.step,
    wallTime: series.wall_time,
    x,
    value,
    smoothed: smoothing ? smooth(value, series.step, smoothing) : value,
    isSorted: isSorted(x),
    startTime: series.wall_time[0] ?? NaN,
  };
  return curve.isSorted && x.every(Number.isFinite) ? curve : sortByX(curve, metric !== null);
}

/** Return some rows of a curve, in the given order. */
export function selectRows(curve: SeriesView, rows: readonly number[]): SeriesView {
  const pick = (column: Float64Array): Float64Array =>
    Float64Array.from(rows, (row) => column[row] ?? NaN);
  const value = pick(curve.value);
  const x = pick(curve.x);
  return {
    ...curve,
    step: pick(curve.step),
    wallTime: pick(curve.wallTime),
    x,
    value,
    smoothed: curve.smoothed === curve.value ? value : pick(curve.smoothed),
    isSorted: isSorted(x),
  };
}

/** Return the rows within an inclusive range; null is an open end. */
export function listRowsInRange(
  { x }: SeriesView,
  start: number | null,
  stop: number | null,
): number[] {
  const [low, high] = [start ?? -Infinity, stop ?? Infinity];
  const rows: number[] = [];
  x.forEach((current, row) => {
    if (current >= low && current <= high) rows.push(row);
  });
  return rows;
}

function computeX(
  series: ExportedSeries,
  axis: string,
  metric: ExportedSeries | null,
): Float64Array {
  const { step, wall_time: wall, index } = series;
  const [firstStep, firstWall] = [step[0] ?? NaN, wall[0] ?? NaN];
  if (metric) return step.map((one) => metric.value[findLastAtOrBefore(metric.step, one)] ?? NaN);
  switch (axis) {
    case 'relative_step':
      return step.map((one) => one - firstStep);
    case 'relative':
      return wall.map((one) => one - firstWall);
    case 'wall':
      return wall;
    case 'index':
      return index ? Float64Array.from(index) : step.map((_, row) => row);
    default:
      return step;
  }
}

/** Remove points without a finite x; sort the others by x, unless it is a metric. */
function sortByX(curve: SeriesView, scatter: boolean): SeriesView {
  const { x } = curve;
  const rows = listRowsInRange(curve, -Number.MAX_VALUE, Number.MAX_VALUE);
  if (!scatter) rows.sort((a, b) => (x[a] ?? 0) - (x[b] ?? 0));
  return selectRows(curve, rows);
}

/** Return a curve to compare with: finite values at increasing x. */
export function makeBaseline(curve: SeriesView): SeriesView {
  const rows = listRowsInRange(curve, null, null).filter((row) =>
    Number.isFinite(curve.value[row]),
  );
  rows.sort((a, b) => (curve.x[a] ?? 0) - (curve.x[b] ?? 0));
  // Of several points at the same x, the last is used.
  const kept = rows.filter((row, index) => curve.x[row] !== curve.x[rows[index + 1] ?? -1]);
  return selectRows(curve, kept);
}

/** Return the difference or ratio of a curve to the baseline, within the range of the baseline. */
export function compareWithBaseline(
  curve: SeriesView,
  base: SeriesView | undefined,
  mode: BaselineMode,
): SeriesView {
  if (!base || base.x.length === 0) return selectRows(curve, []);
  const ends = [base.x[0] ?? NaN, base.x[base.x.length - 1] ?? NaN] as const;
  const within = selectRows(curve, listRowsInRange(curve, ...ends));
  const compare = (column: Float64Array, baseColumn: Float64Array): Float64Array =>
    column.map((value, row) => {
      const other = interpolate(base.x, baseColumn, within.x[row] ?? NaN);
      return mode === 'difference' ? value - other : value / other;
    });
  const value = compare(within.value, base.value);
  const isSmoothed = within.smoothed !== within.value || base.smoothed !== base.value;
  return {
    ...within,
    value,
    smoothed: isSmoothed ? compare(within.smoothed, base.smoothed) : value,
  };
}
