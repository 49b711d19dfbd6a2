/** Columns of labels: their values, sizes of points, histograms and filters. */
import type { ColumnInfo, ColumnResponse } from '../../api/schemas';
import { valueRange } from '../../charts/points/point-scene';
import { formatValue } from '../../lib/format';
import { sortNatural } from '../../lib/arrays';
import type { RowMask } from './row-mask';

const decoder = new TextDecoder();

/** A column of labels. Texts are decoded when they are read. */
export class LabelColumn {
  readonly name: string;
  readonly kind: 'text' | 'number';
  readonly numbers: Float32Array | null;
  readonly codes: Int32Array | null;
  readonly #text: Uint8Array;
  readonly #ends: Int32Array;

  constructor({ name, kind, numbers, codes, text, ends }: ColumnResponse) {
    this.name = name;
    this.kind = kind;
    this.numbers = numbers;
    this.codes = codes;
    this.#text = text;
    this.#ends = ends;
  }

  /** Number of texts: of distinct ones if there are codes, else of rows. */
  get distinctCount(): number {
    return this.#ends.length;
  }

  /** Approximate memory use. */
  get sizeBytes(): number {
    const arrays = [this.numbers, this.codes, this.#text, this.#ends];
    return arrays.reduce((total, array) => total + (array?.byteLength ?? 0), 0);
  }

  textAt(row: number): string {
    return this.valueText(this.codes ? (this.codes[row] ?? -1) : row);
  }

  valueText(code: number): string {
    const end = this.#ends[code];
    if (end === undefined) return '';
    return decoder.decode(this.#text.subarray(code === 0 ? 0 : this.#ends[code - 1], end));
  }
}

/**
 * Return for each row the index of its value in `names`, which begin with the most frequent. Other
 * values have larger numbers, and rows without a value -1.
 */
export function sortCodesByFrequency(
  labels: LabelColumn,
  names: readonly string[],
  total: number,
): Int32Array {
  const indices = new Map(names.map((name, index) => [name, index]));
  const { codes } = labels;
  const ranks = Int32Array.from({ length: labels.distinctCount }, (_, code) => {
    const text = labels.valueText(code);
    return text === '' ? -1 : (indices.get(text) ?? names.length + code);
  });
  const result = new Int32Array(total);
  for (let row = 0; row < total; row++) {
    result[row] = ranks[codes ? (codes[row] ?? -1) : row] ?? -1;
  }
  return result;
}

/** Return the size of each point from 0 to 255; its area is proportional to the number. */
export function computePointSizes(labels: LabelColumn): Uint8Array | null {
  const { numbers } = labels;
  if (!numbers) return null;
  const [low, high] = valueRange(numbers, false);
  const sizes = new Uint8Array(numbers.length);
  numbers.forEach((value, row) => {
    const fraction = high > low ? (value - low) / (high - low) : 1;
    sizes[row] = Number.isNaN(fraction) ? 0 : Math.round(255 * Math.sqrt(fraction));
  });
  return sizes;
}

/** Points with a number in a range, or with one of some texts. */
export type ColumnFilter =
  { readonly range: readonly [low: number, high: number] } | { readonly values: readonly string[] };

export type ColumnFilters = Readonly<Record<string, ColumnFilter>>;

export const NO_FILTERS: ColumnFilters = {};

export function isColumnFilters(value: unknown): value is ColumnFilters {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(isColumnFilter);
}

function isColumnFilter(value: unknown): value is ColumnFilter {
  if (typeof value !== 'object' || value === null) return false;
  if ('range' in value) {
    const { range } = value;
    return Array.isArray(range) && range.length === 2 && range.every(Number.isFinite);
  }
  if (!('values' in value) || !Array.isArray(value.values)) return false;
  return value.values.every((item) => typeof item === 'string');
}

/** Numbers with few distinct values are filtered by value, as texts are. */
const MAX_CATEGORICAL_NUMBERS = 12;
export const BINS = 24;

export function isFilteredByRange({ kind, distinct, values, min, max }: ColumnInfo): boolean {
  if (kind !== 'number' || min === null || max === null || min >= max) return false;
  return values.length === 0 || distinct > MAX_CATEGORICAL_NUMBERS;
}

/** A column of unique texts can only be searched. */
export function canFilter(column: ColumnInfo): boolean {
  return isFilteredByRange(column) || column.values.length > 1;
}

/** Remove the rows that do not pass a filter from a mask. */
export function applyFilter(mask: RowMask, labels: LabelColumn, filter: ColumnFilter): void {
  if ('range' in filter) {
    const [low, high] = filter.range;
    const { numbers } = labels;
    for (let row = 0; row < mask.length; row++) {
      const value = numbers?.[row] ?? NaN;
      // NaN is in no range.
      if (!(value >= low && value <= high)) mask[row] = 0;
    }
    return;
  }
  const texts = new Set(filter.values);
  const { codes } = labels;
  if (!codes) {
    for (let row = 0; row < mask.length; row++) if (!texts.has(labels.textAt(row))) mask[row] = 0;
    return;
  }
  const passes = Array.from({ length: labels.distinctCount }, (_, code) =>
    texts.has(labels.valueText(code)),
  );
  for (let row = 0; row < mask.length; row++) if (!passes[codes[row] ?? -1]) mask[row] = 0;
}

/** Format a number of a column. Integers may be years or ids, so their digits are not grouped. */
export function formatColumnNumber(value: number): string {
  return Number.isSafeInteger(value) ? String(value).replace('-', '−') : formatValue(value);
}

/** A bar of a histogram: a value, or a range of numbers. */
export interface HistogramBar {
  readonly text: string;
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** Count the rows of a mask in ranges of equal width; null counts all rows. */
export function countRanges(
  { min, max }: ColumnInfo,
  { numbers }: LabelColumn,
  mask: RowMask | null,
): HistogramBar[] {
  const [from, to] = [min ?? 0, max ?? 1];
  const counts = new Float64Array(BINS);
  const scale = BINS / (to - from || 1);
  for (let row = 0; numbers && row < numbers.length; row++) {
    const value = numbers[row] ?? NaN;
    if ((mask && !mask[row]) || !Number.isFinite(value)) continue;
    const bin = Math.min(BINS - 1, Math.max(0, Math.floor((value - from) * scale)));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return makeRangeBars({ min, max }, counts);
}

/** Return the bars of ranges of equal width between the ends of a column. */
export function makeRangeBars(
  { min, max }: Pick<ColumnInfo, 'min' | 'max'>,
  counts: ArrayLike<number>,
): HistogramBar[] {
  const [from, to] = [min ?? 0, max ?? 1];
  const width = (to - from || 1) / counts.length;
  return Array.from(counts, (count, bin) => {
    const high = bin === counts.length - 1 ? to : from + (bin + 1) * width;
    return { text: '', low: from + bin * width, high, count };
  });
}

/** Count the rows of a mask with each of the most frequent values, those first. */
export function countValues(
  { values }: ColumnInfo,
  labels: LabelColumn,
  mask: RowMask | null,
  limit: number,
): HistogramBar[] {
  const counts = new Float64Array(labels.distinctCount);
  const { codes } = labels;
  for (let row = 0; codes && row < codes.length; row++) {
    const code = codes[row] ?? -1;
    if (code >= 0 && (!mask || mask[row])) counts[code] = (counts[code] ?? 0) + 1;
  }
  const codeOf = new Map(
    Array.from({ length: labels.distinctCount }, (_, code) => [labels.valueText(code), code]),
  );
  return values.slice(0, limit).map(({ text }) => {
    return { text, low: NaN, high: NaN, count: counts[codeOf.get(text) ?? -1] ?? 0 };
  });
}

/** Texts of more values than this are compared character by character, not in natural order. */
const MAX_NATURAL_ORDER = 200_000;

/** Return rows in the order of a column; those without a value are last in both directions. */
export function sortRowsBy(
  rows: Int32Array,
  labels: LabelColumn | null,
  descending: boolean,
): Int32Array {
  if (!labels) return descending ? rows.slice().reverse() : rows;
  const keys = rankRows(labels);
  const sign = descending ? -1 : 1;
  const known = rows.filter((row) => !Number.isNaN(keys[row] ?? NaN));
  const unknown = rows.filter((row) => Number.isNaN(keys[row] ?? NaN));
  known.sort((a, b) => sign * ((keys[a] ?? 0) - (keys[b] ?? 0)) || a - b);
  const sorted = new Int32Array(rows.length);
  sorted.set(known);
  sorted.set(unknown, known.length);
  return sorted;
}

/** Return a number for each row that sorts like its value; NaN without a value. */
function rankRows(labels: LabelColumn): Float32Array | Float64Array {
  if (labels.numbers) return labels.numbers;
  const count = labels.distinctCount;
  const texts = Array.from({ length: count }, (_, code) => labels.valueText(code));
  const order = texts.map((_, code) => code);
  const sorted =
    count <= MAX_NATURAL_ORDER
      ? sortNatural(order, (code) => texts[code] ?? '')
      : order.sort((a, b) => ((texts[a] ?? '') < (texts[b] ?? '') ? -1 : 1));
  const ranks = new Float64Array(count);
  let rank = 0;
  sorted.forEach((code, position) => {
    // Equal texts of a column without codes have the same rank.
    if (texts[code] !== texts[sorted[position - 1] ?? -1]) rank++;
    ranks[code] = texts[code] === '' ? NaN : rank;
  });
  const { codes } = labels;
  return codes ? Float64Array.from(codes, (code) => ranks[code] ?? NaN) : ranks;
}
