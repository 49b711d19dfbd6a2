/**
 * Slices of the datapoints: conditions on columns, which choose the datapoints that are shown, bins of
 * numeric columns, as rules that the server expects, and thresholds of slices.
 */
import type { DataColumnInfo, PerformanceRequest, SliceThresholds } from '../../api/schemas';
import * as m from '../../catalog/what_if';
import { getOwn } from './feature-values';

/** A row fits if its value is `value`, or lies in a range. */
export interface Condition {
  readonly column: string;
  /** A category; null for a missing value. */
  readonly value?: string | null;
  /** From here on. */
  readonly low?: number;
  /** Below here, or up to here if `isClosed`. */
  readonly high?: number;
  readonly isClosed?: boolean;
}

/** The part of a column that conditions need. */
export interface ConditionColumn {
  readonly name: string;
  readonly numbers: Float64Array | null;
  readonly codes: Int32Array | null;
  readonly categories: readonly string[];
}

export function isConditions(value: unknown): value is readonly Condition[] {
  return (
    Array.isArray(value) &&
    value.every((one: unknown) => typeof one === 'object' && one !== null && 'column' in one)
  );
}

/** Return 1 for each row that fits all conditions; null if all rows do. */
export function makeConditionMask(
  conditions: readonly Condition[],
  columns: ReadonlyMap<string, ConditionColumn>,
  count: number,
): Uint8Array | null {
  const known = conditions.filter(({ column }) => columns.has(column));
  if (known.length === 0) return null;
  const mask = new Uint8Array(count).fill(1);
  for (const condition of known) {
    const column = columns.get(condition.column);
    if (!column) continue;
    const fits = makeTest(condition, column);
    for (let row = 0; row < count; row++) if (!fits(row)) mask[row] = 0;
  }
  return mask;
}

function makeTest(condition: Condition, column: ConditionColumn): (row: number) => boolean {
  const { numbers, codes, categories } = column;
  if (condition.value !== undefined) {
    const { value } = condition;
    if (codes) {
      const wanted = value === null ? -1 : categories.indexOf(value);
      return (row) => codes[row] === wanted && (value === null || wanted >= 0);
    }
    const wanted = value === null ? NaN : toNumber(value);
    return (row) =>
      value === null ? Number.isNaN(numbers?.[row]) : (numbers?.[row] ?? NaN) === wanted;
  }
  const { low = -Infinity, high = Infinity, isClosed = false } = condition;
  return (row) => {
    const number = numbers?.[row] ?? NaN;
    return number >= low && (isClosed ? number <= high : number < high);
  };
}

/** Booleans are 0 and 1 in columns, and `True` and `False` in the names of slices. */
function toNumber(text: string): number {
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true' ? 1 : 0;
  return Number(text);
}

/** How the server names the slice of the rows without a value. */
export const MISSING_VALUE = 'missing';
/** A category of this name, which the server puts in quotes. */
const QUOTED_MISSING = /^"+missing"+$/;
const CROSS = '_X_';
/** An X in a value, which the server marks so that it is not read as the one between values. */
const MARKED_X = /((?:_|^)\\*)\\X(?=_|$)/g;
const RANGE = /^\[(.+), (.+)\)$/;

/** Return what the names of the slices by some columns begin with. */
function getSlicePrefix(columns: readonly string[]): string {
  return `${columns.join(CROSS)}:`;
}

/** Bounds between the bins of numeric columns. */
type BinEdges = Readonly<Record<string, ArrayLike<number>>>;

/**
 * Return the conditions of a slice by its name: `sex:f`, `age:[20, 30)` or, crossed,
 * `sex_X_age:f_X_>= 30`. The slice of all rows has none. Only columns with edges have bins.
 */
export function parseSlice(
  name: string,
  columns: readonly string[],
  edges: BinEdges = {},
): Condition[] {
  const prefix = getSlicePrefix(columns);
  if (columns.length === 0 || !name.startsWith(prefix)) return [];
  const values = name.slice(prefix.length).split(CROSS);
  return columns.map((column, at) => parseValue(column, values[at] ?? '', getOwn(edges, column)));
}

/** Return the name of a slice to show: `sex: f · age: ≥ 30`. */
export function formatSlice(name: string, columns: readonly string[]): string {
  const prefix = getSlicePrefix(columns);
  if (columns.length === 0 || !name.startsWith(prefix)) return name;
  const values = name.slice(prefix.length).split(CROSS);
  return columns
    .map((column, at) => `${column}: ${formatSliceValue(values[at] ?? '')}`)
    .join(' · ');
}

function formatSliceValue(text: string): string {
  return text === MISSING_VALUE ? m.missingValue : unmark(text).replace(/^>= /, '≥ ');
}

function parseValue(column: string, text: string, edges: ArrayLike<number> | undefined): Condition {
  if (text === MISSING_VALUE) return { column, value: null };
  if (QUOTED_MISSING.test(text)) return { column, value: text.slice(1, -1) };
  if (!edges || edges.length === 0) return { column, value: unmark(text) };
  // Names have rounded numbers.
  const findEdge = (number: string): number => findNearest(Number(number), edges);
  if (text.startsWith('< ')) return { column, high: findEdge(text.slice(2)) };
  if (text.startsWith('>= ')) return { column, low: findEdge(text.slice(3)) };
  const [, low, high] = RANGE.exec(text) ?? [];
  if (low === undefined || high === undefined) return { column, value: text };
  return { column, low: findEdge(low), high: findEdge(high) };
}

function unmark(text: string): string {
  return text.replace(MARKED_X, '$1X');
}

function findNearest(number: number, candidates: ArrayLike<number>): number {
  return Array.from(candidates).reduce((best, one) =>
    Math.abs(one - number) < Math.abs(best - number) ? one : best,
  );
}

/** A number of bins of equal width, edges, or quantiles; by column. */
export type BinRules = NonNullable<PerformanceRequest['buckets']>;
export type BinRule = BinRules[string];
export type BinKind = 'width' | 'quantiles' | 'edges';

export const DEFAULT_BINS = 4;
const MAX_BINS = 50;
const MAX_EDGES = 999;

export function isBinRules(value: unknown): value is BinRules {
  return typeof value === 'object' && value !== null && Object.values(value).every(isBinRule);
}

function isBinRule(value: unknown): value is BinRule {
  if (typeof value === 'number') return isBinCount(value);
  if (Array.isArray(value)) return parseEdges(value.join(','))?.length === value.length;
  return (
    typeof value === 'object' &&
    value !== null &&
    'quantiles' in value &&
    typeof value.quantiles === 'number' &&
    isBinCount(value.quantiles)
  );
}

function isBinCount(value: number): boolean {
  return Number.isInteger(value) && value >= 2 && value <= MAX_BINS;
}

export function getBinKind(rule: BinRule): BinKind {
  if (typeof rule === 'number') return 'width';
  return 'quantiles' in rule ? 'quantiles' : 'edges';
}

export function getBinCount(rule: BinRule): number {
  if (typeof rule === 'number') return rule;
  return 'quantiles' in rule ? rule.quantiles : rule.length + 1;
}

/** Return the rule of a kind; edges begin with those that the column has now. */
export function makeBinRule(kind: BinKind, count: number, edges: readonly number[]): BinRule {
  const rounded = Math.max(2, Math.min(MAX_BINS, Math.round(count)));
  if (kind === 'quantiles') return { quantiles: rounded };
  return kind === 'edges' && edges.length > 0 ? edges : rounded;
}

/** Return ascending edges from text with commas or spaces; null if it is not a list of numbers. */
export function parseEdges(text: string): number[] | null {
  const parts = text.split(/[,;\s]+/).filter((part) => part !== '');
  const numbers = parts.map(Number);
  if (numbers.length === 0 || numbers.length > MAX_EDGES) return null;
  if (!numbers.every(Number.isFinite)) return null;
  return [...new Set(numbers)].sort((one, other) => one - other);
}

/** Return whether a text has all words of a filter. */
export function matchesWords(text: string, filter: string): boolean {
  const lower = text.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** Thresholds by model and slice. */
type ThresholdsByModel = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** How datapoints are divided into slices. */
export type Slicing = Required<
  Pick<PerformanceRequest, 'slice_by' | 'buckets' | 'model_thresholds'>
>;

/**
 * Return the thresholds of slices by the chosen columns that are not those of all datapoints of
 * their models; null if there are none. Slices by other columns are not shown and decide nothing.
 */
export function selectSliceThresholds(
  thresholds: ThresholdsByModel,
  slicing: Slicing,
  getDefault: (model: string) => number,
): SliceThresholds | null {
  if (slicing.slice_by.length === 0) return null;
  const prefix = getSlicePrefix(slicing.slice_by);
  const chosen = Object.entries(thresholds).flatMap(([model, bySlice]) => {
    const own = Object.entries(bySlice).filter(
      ([slice, threshold]) => slice.startsWith(prefix) && threshold !== getDefault(model),
    );
    return own.length > 0 ? [[model, Object.fromEntries(own)] as const] : [];
  });
  return chosen.length > 0 ? { ...slicing, thresholds: Object.fromEntries(chosen) } : null;
}

/** Return the largest number of slices that there can be; Infinity if it is not known. */
export function countSlices(
  slicing: Slicing,
  columns: readonly Pick<DataColumnInfo, 'name' | 'missing' | 'distinct'>[],
): number {
  return slicing.slice_by.reduce((product, name) => {
    const column = columns.find((one) => one.name === name);
    const rule = getOwn(slicing.buckets, name);
    const values = rule === undefined ? (column?.distinct ?? Infinity) : getBinCount(rule);
    return product * (values + ((column?.missing ?? 0) > 0 ? 1 : 0));
  }, 1);
}

/** Return thresholds without those of slices by some columns, of which there will be others. */
export function removeSliceThresholds(
  thresholds: ThresholdsByModel,
  columns: readonly string[],
): ThresholdsByModel {
  const prefix = getSlicePrefix(columns);
  return Object.fromEntries(
    Object.entries(thresholds).map(([model, bySlice]) => [
      model,
      Object.fromEntries(Object.entries(bySlice).filter(([slice]) => !slice.startsWith(prefix))),
    ]),
  );
}
