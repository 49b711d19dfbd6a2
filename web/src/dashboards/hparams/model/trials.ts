import { bisectLeft } from '../../../charts/axes/domain';
import { formatDateTime, formatDuration, formatTimeOrDate, formatValue } from '../../../lib/format';

/** What a number in a column means to a reader. */
export type ValueFormat = 'value' | 'time' | 'duration';

/** Something that is known of every session: a hyperparameter, a metric, or about the session itself. */
export interface TrialColumn {
  /** `hparam:lr`, `metric:validation/accuracy`, `status`. */
  readonly key: string;
  readonly kind: 'hparam' | 'metric' | 'about';
  readonly title: string;
  readonly description: string;
  readonly format: ValueFormat;
  /** One a session: the value or, where there are words, the place among them; NaN for neither. */
  readonly values: Float64Array;
  /** In the order of their axis; null where the values are numbers. */
  readonly categories: readonly string[] | null;
  /** 1 where nothing was logged; null where something was everywhere. */
  readonly missingMask: Uint8Array | null;
  /** How far repeats that are one row lie apart. */
  readonly deviations?: Float64Array | null;
  /** The order of the sessions, where it is not that of the numbers. */
  readonly getSortRanks?: () => Float64Array;
  /** Whether it has more than one value. */
  readonly varies: boolean;
}

/** The sessions of a log, in columns. */
export interface Trials {
  readonly count: number;
  readonly names: readonly string[];
  /** The runs that each is made of. */
  readonly runs: readonly (readonly string[])[];
  readonly columns: readonly TrialColumn[];
  findColumn(key: string): TrialColumn | undefined;
}

export function makeTrials(
  names: readonly string[],
  runs: readonly (readonly string[])[],
  columns: readonly TrialColumn[],
): Trials {
  const byKey = new Map(columns.map((column) => [column.key, column]));
  return { count: names.length, names, runs, columns, findColumn: (key) => byKey.get(key) };
}

export function hasValue({ missingMask, categories, values }: TrialColumn, row: number): boolean {
  if (missingMask) return missingMask[row] === 0;
  return categories === null || !Number.isNaN(values[row]);
}

/** The value as text that can be read back; null where there is none. */
export function formatRawValue(column: TrialColumn, row: number): string | null {
  if (!hasValue(column, row)) return null;
  const number = column.values[row] ?? NaN;
  return column.categories ? (column.categories[number] ?? '') : String(number);
}

/** The finite numbers of a column, rising. */
export function sortValues({ values }: TrialColumn): Float64Array {
  return values.filter(Number.isFinite).sort();
}

/** The values that occur, rising, unless there are more than `most`. */
export function findDistinctValues(column: TrialColumn, most: number): readonly number[] | null {
  const seen = new Set<number>();
  for (const value of column.values) {
    if (!Number.isFinite(value)) continue;
    seen.add(value);
    if (seen.size > most) return null;
  }
  return [...seen].sort((a, b) => a - b);
}

/** What stands where there is no value. */
export const NO_VALUE = '–';

/** A number of a column as people read it. */
export function formatColumnValue({ format }: TrialColumn, value: number): string {
  if (format === 'duration') return formatDuration(value);
  if (format === 'time') return formatTimeOrDate(new Date(value * 1000), new Date());
  return formatValue(value);
}

/** The value of a session as people read it. */
export function formatTrialValue(column: TrialColumn, row: number): string {
  if (!hasValue(column, row)) return NO_VALUE;
  const number = column.values[row] ?? NaN;
  if (column.categories) return column.categories[number] ?? '';
  const deviation = column.deviations?.[row] ?? 0;
  const spread = deviation > 0 ? ` ± ${formatValue(deviation, 2)}` : '';
  return formatColumnValue(column, number) + spread;
}

/** The value in full, for a hover. */
export function formatExactValue(column: TrialColumn, row: number): string {
  const text = formatRawValue(column, row);
  if (text === null) return 'no value';
  return column.format === 'time' ? formatDateTime(new Date(Number(text) * 1000)) : text;
}

/** What somebody said about which columns are seen, and in which order. */
export interface ColumnPreferences {
  readonly order: readonly string[];
  readonly hidden: readonly string[];
  readonly added: readonly string[];
}

/** So many are seen of themselves; the others can be added. */
const DEFAULT_HPARAM_COUNT = 10;
const DEFAULT_METRIC_COUNT = 5;

/** The columns that are seen: hyperparameters that differ, then metrics, unless one wants others. */
export function listVisibleColumns(
  columns: readonly TrialColumn[],
  { order, hidden, added }: ColumnPreferences,
  goalKey: string | null,
): TrialColumn[] {
  const isHidden = new Set(hidden);
  const usual = new Set([...listDefaultKeys(columns), ...added, ...(goalKey ? [goalKey] : [])]);
  const seen = columns.filter(({ key }) => usual.has(key) && !isHidden.has(key));
  const places = new Map(order.map((key, place) => [key, place]));
  const placeOf = ({ key, kind }: TrialColumn, at: number): number =>
    places.get(key) ?? order.length + KIND_ORDER[kind] * columns.length + at;
  return seen
    .map((column, at) => ({ column, place: placeOf(column, at) }))
    .sort((one, other) => one.place - other.place)
    .map(({ column }) => column);
}

const KIND_ORDER = { hparam: 0, metric: 1, about: 2 } as const;

function listDefaultKeys(columns: readonly TrialColumn[]): string[] {
  const hparams = columns.filter(({ kind }) => kind === 'hparam');
  const differing = hparams.filter(({ varies }) => varies);
  const metrics = columns.filter(({ kind }) => kind === 'metric');
  return [
    ...(differing.length > 0 ? differing : hparams).slice(0, DEFAULT_HPARAM_COUNT),
    ...metrics.slice(0, DEFAULT_METRIC_COUNT),
  ].map(({ key }) => key);
}

/** The order of keys after one was put before another, or with null at the end. */
export function moveKey(keys: readonly string[], moved: string, before: string | null): string[] {
  if (moved === before) return [...keys];
  const others = keys.filter((key) => key !== moved);
  const at = before === null ? -1 : others.indexOf(before);
  return at < 0 ? [...others, moved] : [...others.slice(0, at), moved, ...others.slice(at)];
}

/** A column to sort by; of several the first counts most. */
export interface SortKey {
  readonly key: string;
  readonly descending: boolean;
}

/** The rows sorted by several columns; those without a number come last in both directions. */
export function sortRows(rows: Int32Array, keys: readonly SortKey[], sessions: Trials): Int32Array {
  const columns = keys.flatMap(({ key, descending }) => {
    const column = sessions.findColumn(key);
    return column
      ? [{ numbers: column.getSortRanks?.() ?? column.values, sign: descending ? -1 : 1 }]
      : [];
  });
  if (columns.length === 0) return rows;
  return rows.slice().sort((a, b) => {
    for (const { numbers, sign } of columns) {
      const order = compareValues(numbers[a] ?? NaN, numbers[b] ?? NaN, sign);
      if (order !== 0) return order;
    }
    return a - b;
  });
}

function compareValues(one: number, other: number, sign: number): number {
  if (one === other) return 0;
  if (Number.isNaN(one)) return Number.isNaN(other) ? 0 : 1;
  if (Number.isNaN(other)) return -1;
  return one < other ? -sign : sign;
}

/**
 * What a click on a heading makes of the order: up, down, and as it was. With `more` the column is
 * put after those that count already.
 */
export function cycleSort(keys: readonly SortKey[], key: string, more: boolean): SortKey[] {
  const known = keys.find((one) => one.key === key);
  if (!more) {
    if (keys.length > 1 || !known) return [{ key, descending: false }];
    return known.descending ? [] : [{ key, descending: true }];
  }
  if (!known) return [...keys, { key, descending: false }];
  if (known.descending) return keys.filter((one) => one !== known);
  return keys.map((one) => (one === known ? { key, descending: true } : one));
}

/** The metric that sessions are judged by. */
export interface Objective {
  readonly column: TrialColumn;
  /** True where less is better. */
  readonly minimize: boolean;
}

/** The sessions among `rows` that have a number, best first. */
export function rankByObjective({ column, minimize }: Objective, rows: Int32Array): Int32Array {
  const { values } = column;
  const sign = minimize ? 1 : -1;
  return rows
    .filter((row) => Number.isFinite(values[row]))
    .sort((a, b) => sign * ((values[a] ?? 0) - (values[b] ?? 0)) || a - b);
}

/** The best value after each session in order of their start, and who had it. */
export interface BestSoFar {
  readonly rows: Int32Array;
  readonly best: Float64Array;
  /** Rows that were better than all before. */
  readonly improvements: Int32Array;
}

export function computeBestSoFar(
  goal: Objective,
  start: Float64Array,
  rows: Int32Array,
): BestSoFar {
  const { column, minimize } = goal;
  const { values } = column;
  const timed = rows
    .filter((row) => Number.isFinite(values[row]))
    .sort((a, b) => nanLast(start[a]) - nanLast(start[b]) || a - b);
  const best = new Float64Array(timed.length);
  const records: number[] = [];
  let top = NaN;
  timed.forEach((row, at) => {
    const value = values[row] ?? NaN;
    if (Number.isNaN(top) || (minimize ? value < top : value > top)) {
      top = value;
      records.push(row);
    }
    best[at] = top;
  });
  return { rows: timed, best, improvements: Int32Array.from(records) };
}

/** Sessions that do not say when they began come last. */
function nanLast(time = NaN): number {
  return Number.isNaN(time) ? Number.MAX_VALUE : time;
}

/**
 * Where a value stands among rising numbers, from 0 to 1. Equal values share the middle, and one that
 * is none of them stands between its neighbours.
 */
export function computeRank(sorted: Float64Array, value: number): number {
  const before = bisectLeft(sorted, value);
  if (sorted[before] !== value)
    return interpolateRank(sorted, before, value) / Math.max(1, sorted.length - 1);
  // Most values have no equal, and need not be looked for a second time.
  const last = sorted[before + 1] === value ? bisectLeft(sorted, nextAbove(value)) - 1 : before;
  return (before + last) / 2 / Math.max(1, sorted.length - 1);
}

function interpolateRank(sorted: Float64Array, before: number, value: number): number {
  const [low, high] = [sorted[before - 1], sorted[before]];
  if (low === undefined || high === undefined) return low === undefined ? 0 : sorted.length - 1;
  return before - 1 + (value - low) / (high - low);
}

function nextAbove(value: number): number {
  return value + Math.max(Number.MIN_VALUE, Math.abs(value) * Number.EPSILON);
}

/** Where each value stands among all; NaN for one that is no number. */
export function computeRanks(values: Float64Array): Float64Array {
  const sorted = values.filter(Number.isFinite).sort();
  return values.map((value) => (Number.isFinite(value) ? computeRank(sorted, value) : NaN));
}
