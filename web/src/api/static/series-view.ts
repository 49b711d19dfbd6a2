import type { BaselineMode, Smoothing, SmoothingKind } from '../schemas';
import type { ExportContents } from './contents';

/** One series as it was copied, without overwritten points. */
export interface ExportedSeries {
  readonly run: string;
  /** Of the log: how many points there are, were overwritten, and are not finite. */
  readonly points: number;
  readonly overwritten: number;
  readonly odd: number;
  readonly step: Float64Array;
  readonly wall_time: Float64Array;
  readonly value: Float32Array | Float64Array;
  /** Which points of the log these are; null: all of them. */
  readonly index: Int32Array | null;
}

interface ExportedTagEntry {
  readonly tag: string;
  readonly path: string;
  readonly runs: readonly string[];
}

export interface SeriesKey {
  readonly run: string;
  readonly tag: string;
}

/** The series of a copy, tag by tag. */
export class SeriesReader {
  readonly #contents: ExportContents;
  readonly #below: string;

  /** `below` is the address that those of the series begin with. */
  constructor(contents: ExportContents, below: string) {
    this.#contents = contents;
    this.#below = below;
  }

  /** Tag by tag, the series of those of the runs that have it. */
  async read(
    tags: readonly string[],
    runs: readonly string[] | null,
  ): Promise<readonly (readonly [SeriesKey, ExportedSeries])[]> {
    const chosen = runs && new Set(runs);
    const found = await Promise.all(tags.map((tag) => this.#read(tag)));
    return tags.flatMap((tag, at) =>
      (found[at] ?? [])
        .filter(({ run }) => chosen === null || chosen.has(run))
        .map((series) => [{ run: series.run, tag }, series] as const),
    );
  }

  async #index(): Promise<readonly ExportedTagEntry[]> {
    const { tags } = (await this.#contents.read(`${this.#below}series`)) as {
      tags: readonly ExportedTagEntry[];
    };
    return tags;
  }

  async #read(tag: string): Promise<readonly ExportedSeries[]> {
    const found = (await this.#index()).find((one) => one.tag === tag);
    if (!found) return [];
    const { series } = (await this.#contents.read(this.#below + found.path)) as {
      series: readonly ExportedSeries[];
    };
    return series;
  }
}

/** Looking for places in columns that rise. */

export function isSorted(column: Float64Array): boolean {
  return column.every((value, at) => at === 0 || value >= (column[at - 1] ?? NaN));
}

/** How many values lie below `place`. */
export function bisectLeft(column: Float64Array, place: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] ?? NaN) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The row of the last value that is not above `place`; -1 if there is none. */
export function findLastAtOrBefore(column: Float64Array, place: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] ?? NaN) <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The value at `place` on straight lines between points; NaN where they do not reach. */
export function interpolate(x: Float64Array, y: Float64Array, place: number): number {
  const row = findLastAtOrBefore(x, place);
  const [x0 = NaN, x1 = NaN] = [x[row], x[row + 1]];
  const [y0 = NaN, y1 = NaN] = [y[row], y[row + 1]];
  if (x0 === place) return y0;
  return y0 + ((place - x0) / (x1 - x0)) * (y1 - y0);
}

type SmoothingFunction = (value: Float64Array, step: Float64Array, amount: number) => Float64Array;

/**
 * The values smoothed in their order; where they are not finite, as they are. The server does the
 * same, over all points of the log (`tracklight/index/smoothing.py`).
 */
export function smooth(value: Float64Array, step: Float64Array, how: Smoothing): Float64Array {
  return isConstant(value) ? value : SMOOTHING_FUNCTIONS[how.kind](value, step, how.amount);
}

/** What never changes stays as it is, to the last digit. */
function isConstant(value: Float64Array): boolean {
  const finite = value.filter(Number.isFinite);
  return finite.every((one) => one === finite[0]);
}

/** TensorBoard's: made up for having started at nothing. */
function smoothEma(value: Float64Array, _: Float64Array, weight: number): Float64Array {
  let last = 0;
  let left = 1;
  return value.map((one) => {
    if (!Number.isFinite(one)) return one;
    last = weight * last + (1 - weight) * one;
    left *= weight;
    return left > 1e-17 ? last / (1 - left) : last;
  });
}

/** The weight of a point halves every `halfLife` steps. */
function smoothTimeEma(value: Float64Array, step: Float64Array, halfLife: number): Float64Array {
  let total = 0;
  let weight = 0;
  let before = 0;
  return value.map((one, at) => {
    if (!Number.isFinite(one)) return one;
    const now = step[at] ?? 0;
    const decay = weight === 0 ? 0 : 2 ** ((before - now) / halfLife);
    total = total * decay + one;
    weight = weight * decay + 1;
    before = now;
    return total / weight;
  });
}

function smoothMean(value: Float64Array, _: Float64Array, size: number): Float64Array {
  return applyWindow(value, size, (some) => some.reduce((a, b) => a + b, 0) / some.length);
}

function smoothMedian(value: Float64Array, _: Float64Array, size: number): Float64Array {
  return applyWindow(value, size, (some) => {
    const sorted = some.sort();
    const middle = sorted.length >> 1;
    const upper = sorted[middle] ?? NaN;
    return sorted.length % 2 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
  });
}

function smoothGaussian(value: Float64Array, _: Float64Array, deviation: number): Float64Array {
  const reach = Math.ceil(4 * deviation);
  return value.map((one, at) => {
    if (!Number.isFinite(one)) return one;
    let total = 0;
    let weights = 0;
    for (let near = Math.max(0, at - reach); near <= at + reach && near < value.length; near++) {
      const other = value[near] ?? NaN;
      if (!Number.isFinite(other)) continue;
      const weight = Math.exp(-0.5 * ((near - at) / deviation) ** 2);
      total += weight * other;
      weights += weight;
    }
    return total / weights;
  });
}

/** A window around each point, with fewer at the ends, and its finite values in one number. */
function applyWindow(
  value: Float64Array,
  size: number,
  sumUp: (some: Float64Array) => number,
): Float64Array {
  const whole = Math.round(size);
  const before = whole >> 1;
  const after = (whole - 1) >> 1;
  return value.map((one, at) => {
    if (!Number.isFinite(one)) return one;
    const window = value.slice(Math.max(0, at - before), at + after + 1);
    return sumUp(window.filter(Number.isFinite));
  });
}

const SMOOTHING_FUNCTIONS: Readonly<Record<SmoothingKind, SmoothingFunction>> = {
  ema: smoothEma,
  time_ema: smoothTimeEma,
  mean: smoothMean,
  median: smoothMedian,
  gaussian: smoothGaussian,
};

/** A series as it is looked at: columns in the order of `x`, or of steps where that is a metric. */
export interface SeriesView {
  readonly series: ExportedSeries;
  readonly step: Float64Array;
  readonly wallTime: Float64Array;
  readonly x: Float64Array;
  readonly value: Float64Array;
  /** `value` itself where nothing is smoothed. */
  readonly smoothed: Float64Array;
  /** Whether `x` never falls. */
  readonly isSorted: boolean;
  /** When the first point of the series was written. */
  readonly startTime: number;
}

/** Puts a series on an axis and smooths it; `metric` is the tag of its run that stands there. */
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

/** Some rows of a curve, in the order given. */
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

/** The rows that lie in a range, its ends included; null leaves an end open. */
export function listRowsInRange(
  { x }: SeriesView,
  start: number | null,
  stop: number | null,
): number[] {
  const [low, high] = [start ?? -Infinity, stop ?? Infinity];
  const rows: number[] = [];
  x.forEach((at, row) => {
    if (at >= low && at <= high) rows.push(row);
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
  if (metric) return step.map((at) => metric.value[findLastAtOrBefore(metric.step, at)] ?? NaN);
  switch (axis) {
    case 'relative_step':
      return step.map((at) => at - firstStep);
    case 'relative':
      return wall.map((at) => at - firstWall);
    case 'wall':
      return wall;
    case 'index':
      return index ? Float64Array.from(index) : step.map((_, row) => row);
    default:
      return step;
  }
}

/** Leaves out points that have no place on the axis; on an axis of time, follows it. */
function sortByX(curve: SeriesView, scatter: boolean): SeriesView {
  const { x } = curve;
  const rows = listRowsInRange(curve, -Number.MAX_VALUE, Number.MAX_VALUE);
  if (!scatter) rows.sort((a, b) => (x[a] ?? 0) - (x[b] ?? 0));
  return selectRows(curve, rows);
}

/** A curve that others are compared with: `x` rises, and all is finite. */
export function makeBaseline(curve: SeriesView): SeriesView {
  const rows = listRowsInRange(curve, null, null).filter((row) =>
    Number.isFinite(curve.value[row]),
  );
  rows.sort((a, b) => (curve.x[a] ?? 0) - (curve.x[b] ?? 0));
  // Of several points at one place the last counts.
  const kept = rows.filter((row, at) => curve.x[row] !== curve.x[rows[at + 1] ?? -1]);
  return selectRows(curve, kept);
}

/** A curve less, or divided by, the baseline, where that has values to compare with. */
export function compareWithBaseline(
  curve: SeriesView,
  base: SeriesView | undefined,
  mode: BaselineMode,
): SeriesView {
  if (!base || base.x.length === 0) return selectRows(curve, []);
  const ends = [base.x[0] ?? NaN, base.x[base.x.length - 1] ?? NaN] as const;
  const within = selectRows(curve, listRowsInRange(curve, ...ends));
  const against = (own: Float64Array, column: Float64Array): Float64Array =>
    own.map((value, at) => {
      const other = interpolate(base.x, column, within.x[at] ?? NaN);
      return mode === 'difference' ? value - other : value / other;
    });
  const value = against(within.value, base.value);
  const isSmoothed = within.smoothed !== within.value || base.smoothed !== base.value;
  return {
    ...within,
    value,
    smoothed: isSmoothed ? against(within.smoothed, base.smoothed) : value,
  };
}
