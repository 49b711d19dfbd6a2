/** Trials in columns, their text, default columns, sort order, objective and ranks. */
import type { SortOrder } from '../../../components/data-table';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/hparams';
import { bisectLeft } from '../../../charts/axes/domain';
import { formatDateTime, formatDuration, formatTimeOrDate, formatValue } from '../../../lib/format';

/** How the numbers of a column are shown. */
export type ValueFormat = 'value' | 'time' | 'duration';

/** A hyperparameter, a metric, or information about the trial itself. */
export interface TrialColumn {
  /** `hparam:lr`, `metric:validation|accuracy`, `status`. */
  readonly key: string;
  readonly kind: 'hparam' | 'metric' | 'info';
  readonly title: string;
  readonly description: string;
  readonly format: ValueFormat;
  /** For each trial the number, or the index into `categories`; NaN if there is neither. */
  readonly values: Float64Array;
  /** The lowest and highest value of all trials, if only some of them are loaded. */
  readonly range?: readonly [number, number];
  /** In the order of the axis; null if the values are numbers. */
  readonly categories: readonly string[] | null;
  /** Shown instead of `categories`, which filters and exports use. */
  readonly categoryLabels?: readonly string[];
  /** 1 for trials without a value; null if all have one. */
  readonly missingMask: Uint8Array | null;
  /** In a column of numbers: the values of trials that are not numbers, null for all others. */
  readonly texts?: readonly (string | null)[];
  /** Standard deviations of repeats that are aggregated to one row. */
  readonly deviations?: Float64Array | null;
  /** Sort keys, if trials are not sorted by `values`. */
  readonly getSortRanks?: () => Float64Array;
  /** Whether there is more than one value. */
  readonly varies: boolean;
}

/** The column of the study, which exists if the trials are of several. */
export const STUDY_KEY = 'study';

/** The trials of a log. */
export interface Trials {
  readonly count: number;
  readonly names: readonly string[];
  /** The runs of each trial. */
  readonly runs: readonly (readonly string[])[];
  readonly columns: readonly TrialColumn[];
  /** 1 for trials of study files, which have no runs to open; null if there are none. */
  readonly storedMask: Uint8Array | null;
  findColumn(key: string): TrialColumn | undefined;
}

export function makeTrials(
  names: readonly string[],
  runs: readonly (readonly string[])[],
  columns: readonly TrialColumn[],
  storedMask: Uint8Array | null = null,
): Trials {
  const byKey = new Map(columns.map((column) => [column.key, column]));
  const findColumn = (key: string): TrialColumn | undefined => byKey.get(key);
  return { count: names.length, names, runs, columns, storedMask, findColumn };
}

export function hasValue({ missingMask, categories, values }: TrialColumn, row: number): boolean {
  if (missingMask) return missingMask[row] === 0;
  return categories === null || !Number.isNaN(values[row]);
}

/** Return the value as text that can be parsed again; null if there is none. */
export function formatRawValue(column: TrialColumn, row: number): string | null {
  if (!hasValue(column, row)) return null;
  const value = column.values[row] ?? NaN;
  if (column.categories) return column.categories[value] ?? '';
  return column.texts?.[row] ?? String(value);
}

/** Return the finite values of a column in ascending order. */
export function sortValues({ values }: TrialColumn): Float64Array {
  return values.filter(Number.isFinite).sort();
}

/** Return the distinct finite values in ascending order; null if there are more than `max`. */
export function findDistinctValues(column: TrialColumn, max: number): readonly number[] | null {
  const seen = new Set<number>();
  for (const value of column.values) {
    if (!Number.isFinite(value)) continue;
    seen.add(value);
    if (seen.size > max) return null;
  }
  return [...seen].sort((a, b) => a - b);
}

/** Return a number in the format of a column. */
export function formatColumnValue({ format }: TrialColumn, value: number): string {
  if (format === 'duration') return formatDuration(value);
  if (format === 'time') return formatTimeOrDate(new Date(value * 1000), new Date());
  return formatValue(value);
}

/** Return the label of a category. */
export function getCategoryLabel(column: TrialColumn, index: number): string {
  return column.categoryLabels?.[index] ?? getCategoryText(column.categories?.[index] ?? '');
}

/** Return a text value as it is shown: an empty one needs a label. */
export function getCategoryText(category: string): string {
  return category === '' ? m.emptyText : category;
}

/** Return the text of the value of a trial, with its deviation. */
export function formatTrialValue(column: TrialColumn, row: number): string {
  if (!hasValue(column, row)) return common.noValueSymbol;
  const number = column.values[row] ?? NaN;
  if (column.categories) return getCategoryLabel(column, number);
  const text = column.texts?.[row] ?? null;
  if (text !== null) return getCategoryText(text);
  const value = formatColumnValue(column, number);
  const deviation = column.deviations?.[row] ?? 0;
  if (!(deviation > 0)) return value;
  return m.valueWithDeviation({ value, deviation: formatValue(deviation, 2) });
}

/** Return the value with all digits, for a tooltip. */
export function formatExactValue(column: TrialColumn, row: number): string {
  const text = formatRawValue(column, row);
  if (text === null) return common.noValue;
  if (column.categories) return formatTrialValue(column, row);
  return column.format === 'time' ? formatDateTime(new Date(Number(text) * 1000)) : text;
}

/** The user's choice and order of columns. */
export interface ColumnPreferences {
  readonly order: readonly string[];
  readonly hidden: readonly string[];
  readonly added: readonly string[];
}

/** Columns that are visible by default. */
const DEFAULT_HPARAM_COUNT = 10;
const DEFAULT_METRIC_COUNT = 5;

/** Return the visible columns: by default, hyperparameters that vary, then metrics. */
export function listVisibleColumns(
  columns: readonly TrialColumn[],
  { order, hidden, added }: ColumnPreferences,
  objectiveKey: string | null,
): TrialColumn[] {
  const hiddenKeys = new Set(hidden);
  const shownKeys = new Set([
    ...listDefaultKeys(columns),
    ...added,
    ...(objectiveKey === null ? [] : [objectiveKey]),
  ]);
  const visible = columns.filter(({ key }) => shownKeys.has(key) && !hiddenKeys.has(key));
  const positions = new Map(order.map((key, position) => [key, position]));
  const getPosition = ({ key, kind }: TrialColumn, index: number): number =>
    positions.get(key) ?? order.length + KIND_ORDER[kind] * columns.length + index;
  return visible
    .map((column, index) => ({ column, position: getPosition(column, index) }))
    .sort((a, b) => a.position - b.position)
    .map(({ column }) => column);
}

const KIND_ORDER = { hparam: 0, metric: 1, info: 2 } as const;

function listDefaultKeys(columns: readonly TrialColumn[]): string[] {
  const hparams = columns.filter(({ kind }) => kind === 'hparam');
  const varying = hparams.filter(({ varies }) => varies);
  const metrics = columns.filter(({ kind }) => kind === 'metric');
  const studies = columns.filter(({ key }) => key === STUDY_KEY);
  return [
    ...(varying.length > 0 ? varying : hparams).slice(0, DEFAULT_HPARAM_COUNT),
    ...metrics.slice(0, DEFAULT_METRIC_COUNT),
    ...studies,
  ].map(({ key }) => key);
}

/** Sort rows by several columns. Rows without a value come last in both directions. */
export function sortRows(rows: Int32Array, keys: readonly SortOrder[], trials: Trials): Int32Array {
  const columns = keys.flatMap(({ key, descending }) => {
    const column = trials.findColumn(key);
    return column
      ? [{ values: column.getSortRanks?.() ?? column.values, sign: descending ? -1 : 1 }]
      : [];
  });
  if (columns.length === 0) return rows;
  return rows.slice().sort((a, b) => {
    for (const { values, sign } of columns) {
      const order = compareValues(values[a] ?? NaN, values[b] ?? NaN, sign);
      if (order !== 0) return order;
    }
    return a - b;
  });
}

function compareValues(a: number, b: number, sign: number): number {
  if (a === b) return 0;
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
  if (Number.isNaN(b)) return -1;
  return a < b ? -sign : sign;
}

/** The metric that trials are ranked by. */
export interface Objective {
  readonly column: TrialColumn;
  readonly minimize: boolean;
}

/** Return the trials among `rows` that have a finite value, the best first. */
export function rankByObjective({ column, minimize }: Objective, rows: Int32Array): Int32Array {
  const { values } = column;
  const sign = minimize ? 1 : -1;
  return rows
    .filter((row) => Number.isFinite(values[row]))
    .sort((a, b) => sign * ((values[a] ?? 0) - (values[b] ?? 0)) || a - b);
}

/** Return `chosen` and as many of the other rows, at equal distances, as `count` leaves. */
export function chooseSample(rows: Int32Array, chosen: Int32Array, count: number): Int32Array {
  const known = new Set(chosen);
  const others = rows.filter((row) => !known.has(row));
  const size = Math.min(count - chosen.length, others.length);
  const sample = Array.from(
    { length: size },
    (_, index) => others[Math.floor((index * others.length) / size)] ?? 0,
  );
  return Int32Array.from([...chosen, ...sample]);
}

/** The best value after each trial, in order of their start. */
export interface BestSoFar {
  readonly rows: Int32Array;
  readonly best: Float64Array;
  /** Rows that were better than all before them. */
  readonly improvements: Int32Array;
}

export function computeBestSoFar(
  { column, minimize }: Objective,
  start: Float64Array,
  rows: Int32Array,
): BestSoFar {
  const { values } = column;
  const ordered = rows
    .filter((row) => Number.isFinite(values[row]))
    .sort((a, b) => nanLast(start[a]) - nanLast(start[b]) || a - b);
  const best = new Float64Array(ordered.length);
  const improvements: number[] = [];
  let current = NaN;
  ordered.forEach((row, index) => {
    const value = values[row] ?? NaN;
    if (Number.isNaN(current) || (minimize ? value < current : value > current)) {
      current = value;
      improvements.push(row);
    }
    best[index] = current;
  });
  return { rows: ordered, best, improvements: Int32Array.from(improvements) };
}

function nanLast(time = NaN): number {
  return Number.isNaN(time) ? Number.MAX_VALUE : time;
}

/**
 * Return the rank of a value in sorted numbers, from 0 to 1. Equal values have the mean of their
 * ranks; a value between two numbers has an interpolated rank.
 */
export function computeRank(sorted: Float64Array, value: number): number {
  const first = bisectLeft(sorted, value);
  if (sorted[first] !== value)
    return interpolateRank(sorted, first, value) / Math.max(1, sorted.length - 1);
  // Most values are distinct and need no second search.
  const last = sorted[first + 1] === value ? bisectLeft(sorted, nextAbove(value)) - 1 : first;
  return (first + last) / 2 / Math.max(1, sorted.length - 1);
}

function interpolateRank(sorted: Float64Array, index: number, value: number): number {
  const [low, high] = [sorted[index - 1], sorted[index]];
  if (low === undefined || high === undefined) return low === undefined ? 0 : sorted.length - 1;
  return index - 1 + (value - low) / (high - low);
}

function nextAbove(value: number): number {
  return value + Math.max(Number.MIN_VALUE, Math.abs(value) * Number.EPSILON);
}

/** Return the rank of each value, from 0 to 1; NaN for values that are not finite. */
export function computeRanks(values: Float64Array): Float64Array {
  const sorted = values.filter(Number.isFinite).sort();
  return values.map((value) => (Number.isFinite(value) ? computeRank(sorted, value) : NaN));
}
