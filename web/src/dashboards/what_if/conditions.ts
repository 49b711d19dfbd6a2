/** Conditions on columns, which choose the datapoints that are shown. */
import * as m from '../../catalog/what_if';

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
const CROSS = '_X_';
const RANGE = /^\[(.+), (.+)\)$/;

/** Bounds between the bins of numeric columns. */
export type BinEdges = Readonly<Record<string, ArrayLike<number>>>;

/**
 * Return the conditions of a slice by its name: `sex:f`, `age:[20, 30)` or, crossed,
 * `sex_X_age:f_X_>= 30`. The slice of all rows has none. Only columns with edges have bins.
 */
export function parseSlice(
  name: string,
  columns: readonly string[],
  edges: BinEdges = {},
): Condition[] {
  const prefix = `${columns.join(CROSS)}:`;
  if (columns.length === 0 || !name.startsWith(prefix)) return [];
  const values = name.slice(prefix.length).split(CROSS);
  return columns.map((column, at) => parseValue(column, values[at] ?? '', edges[column]));
}

/** Return the name of a slice to show: `sex: f · age: ≥ 30`. */
export function formatSlice(name: string, columns: readonly string[]): string {
  const prefix = `${columns.join(CROSS)}:`;
  if (columns.length === 0 || !name.startsWith(prefix)) return name;
  const values = name.slice(prefix.length).split(CROSS);
  return columns
    .map((column, at) => `${column}: ${formatSliceValue(values[at] ?? '')}`)
    .join(' · ');
}

function formatSliceValue(text: string): string {
  return text === MISSING_VALUE ? m.missingValue : text.replace(/^>= /, '≥ ');
}

function parseValue(column: string, text: string, edges: ArrayLike<number> | undefined): Condition {
  if (text === MISSING_VALUE) return { column, value: null };
  if (!edges || edges.length === 0) return { column, value: text };
  // Names have rounded numbers.
  const findEdge = (number: string): number => findNearest(Number(number), edges);
  if (text.startsWith('< ')) return { column, high: findEdge(text.slice(2)) };
  if (text.startsWith('>= ')) return { column, low: findEdge(text.slice(3)) };
  const [, low, high] = RANGE.exec(text) ?? [];
  if (low === undefined || high === undefined) return { column, value: text };
  return { column, low: findEdge(low), high: findEdge(high) };
}

function findNearest(number: number, candidates: ArrayLike<number>): number {
  return Array.from(candidates).reduce((best, one) =>
    Math.abs(one - number) < Math.abs(best - number) ? one : best,
  );
}
