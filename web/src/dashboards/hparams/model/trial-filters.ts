/** Filters of trials by column, brushes on axes, and the same filters for runs. */
import { roundRangeOutward } from '../../../charts/axes/ticks';
import { compileTextFilter } from '../../../lib/text-filter';
import { type ColumnAxis, OTHER_POSITION } from './column-axes';
import { hasValue, type TrialColumn, type Trials } from './trials';

/** The condition on one column. All parts have to hold. */
export interface ColumnFilter {
  /** Inclusive. */
  readonly range?: readonly [number, number];
  /** The accepted values as text. */
  readonly values?: readonly string[];
  /** A regular expression that matches the value as text. */
  readonly pattern?: string;
  /** Whether trials without a value, or with a text in a column of numbers, pass. */
  readonly blank?: boolean;
}

/** Filters by column key. */
export type ColumnFilters = ReadonlyMap<string, ColumnFilter>;

export const NO_FILTERS: ColumnFilters = new Map();

/** Return 1 for each trial that passes all filters and is set in `mask`. */
export function applyFilters(
  trials: Trials,
  filters: ColumnFilters,
  mask?: Uint8Array,
): Uint8Array {
  const passing = mask?.slice() ?? new Uint8Array(trials.count).fill(1);
  for (const [key, filter] of filters) {
    const column = trials.findColumn(key);
    if (column) applyFilter(column, filter, passing);
  }
  return passing;
}

/** Return the indices of the trials that are set in a mask. */
export function listMaskRows(mask: Uint8Array): Int32Array {
  const rows = new Int32Array(mask.length);
  let count = 0;
  for (let row = 0; row < mask.length; row++) if (mask[row]) rows[count++] = row;
  return rows.subarray(0, count);
}

function applyFilter(column: TrialColumn, filter: ColumnFilter, passing: Uint8Array): void {
  const { values } = column;
  const matches = compileColumnFilter(column, filter);
  const blank = filter.blank ? 1 : 0;
  for (let row = 0; row < passing.length; row++) {
    if (!passing[row]) continue;
    const isBlank = !hasValue(column, row) || (column.texts?.[row] ?? null) !== null;
    passing[row] = isBlank ? blank : Number(matches(values[row] ?? NaN));
  }
}

type ValueTest = (value: number) => boolean;

function compileColumnFilter(column: TrialColumn, filter: ColumnFilter): ValueTest {
  const tests = [
    ...(filter.range ? [makeRangeTest(filter.range)] : []),
    ...(filter.values ? [makeValuesTest(column, filter.values)] : []),
    ...(filter.pattern ? [makePatternTest(column, filter.pattern)] : []),
  ];
  const [only] = tests;
  if (tests.length === 1 && only) return only;
  return (value) => tests.every((test) => test(value));
}

function makeRangeTest([low, high]: readonly [number, number]): ValueTest {
  return (value) => value >= low && value <= high;
}

function makeValuesTest({ categories }: TrialColumn, values: readonly string[]): ValueTest {
  const accepted = new Set(
    categories ? values.map((value) => categories.indexOf(value)) : values.map(Number),
  );
  return (value) => accepted.has(value);
}

/** Each distinct value is matched once. */
function makePatternTest({ categories }: TrialColumn, text: string): ValueTest {
  const { matches } = compileTextFilter({ text, regex: true });
  const results = new Map<number, boolean>();
  return (value) => {
    const cached = results.get(value);
    if (cached !== undefined) return cached;
    const result = matches(categories ? (categories[value] ?? '') : String(value));
    results.set(value, result);
    return result;
  };
}

/** Replace the filter of a column; an empty filter is removed. */
export function withFilter(
  filters: ColumnFilters,
  key: string,
  filter: ColumnFilter | null,
): ColumnFilters {
  const others = [...filters].filter(([other]) => other !== key);
  if (filter === null || isEmptyFilter(filter)) return new Map(others);
  return filters.has(key)
    ? new Map([...filters].map(([other, current]) => [other, other === key ? filter : current]))
    : new Map([...others, [key, filter]]);
}

function isEmptyFilter({ range, values, pattern }: ColumnFilter): boolean {
  return !range && !values && !pattern;
}

/** A range of positions on an axis, the lower end first. */
export type Brush = readonly [number, number];

/** Digits of a brushed range: more than pixels can tell apart, and short in a URL. */
const RANGE_DIGITS = 6;

/** Return the filter that a brush on an axis means. */
export function makeFilterFromBrush(axis: ColumnAxis, [from, to]: Brush): ColumnFilter {
  const { categories } = axis.column;
  const [low, high] = makeBrush(axis.toValue(from), axis.toValue(to));
  if (categories) return { values: categories.filter((_, index) => index >= low && index <= high) };
  return { range: roundRangeOutward([low, high], RANGE_DIGITS) };
}

/** Return the filter that a brush on an axis of a scatter plot means. */
export function makeFilterFromScatterBrush(axis: ColumnAxis, brush: Brush): ColumnFilter {
  if (!axis.column.texts) return makeFilterFromBrush(axis, brush);
  const [from, to] = brush;
  const blank = from <= OTHER_POSITION && OTHER_POSITION <= to;
  // Below all numbers.
  if (to < 2 * OTHER_POSITION) return { values: [], blank };
  return { ...makeFilterFromBrush(axis, brush), blank };
}

/** Return the part of an axis of a scatter plot that a filter accepts. */
export function findScatterBrushOfFilter(axis: ColumnAxis, filter: ColumnFilter): Brush | null {
  const brush = findBrushOfFilter(axis, filter);
  if (!axis.column.texts || !filter.blank) return brush;
  if (filter.values?.length === 0) return [0, 2 * OTHER_POSITION];
  return brush && [0, brush[1]];
}

/** Return the part of an axis that a filter accepts; null if it is not one range. */
export function findBrushOfFilter(axis: ColumnAxis, { range, values }: ColumnFilter): Brush | null {
  if (range)
    return makeBrush(
      clampPosition(axis.toPosition(range[0]), 0),
      clampPosition(axis.toPosition(range[1]), 1),
    );
  const { categories } = axis.column;
  if (!values || !categories || values.length === 0) return null;
  const indices = values.map((value) => categories.indexOf(value)).filter((index) => index >= 0);
  const [low, high] = [Math.min(...indices), Math.max(...indices)];
  const isContiguous = high - low + 1 === indices.length;
  if (indices.length === 0 || !isContiguous) return null;
  const half = 0.5 / categories.length;
  const [from, to] = makeBrush(axis.toPosition(low), axis.toPosition(high));
  return [from - half, to + half];
}

function makeBrush(from: number, to: number): Brush {
  return from <= to ? [from, to] : [to, from];
}

function clampPosition(position: number, fallback: number): number {
  return Number.isNaN(position) ? fallback : Math.min(1, Math.max(0, position));
}

/** Within this distance of an end of a brush, a drag moves that end. */
const BRUSH_HANDLE_PX = 6;

/** Returns the brush for a position of the pointer. */
export type BrushDrag = (position: number) => Brush;

/**
 * Start a drag along an axis: it moves an end of the brush, the whole brush, or creates a new one.
 * `length` is that of the axis in pixels.
 */
export function startBrushDrag(brush: Brush | null, from: number, length: number): BrushDrag {
  const tolerance = BRUSH_HANDLE_PX / length;
  if (brush) {
    const [low, high] = brush;
    if (Math.abs(from - high) <= tolerance) return (position) => makeBrush(low, position);
    if (Math.abs(from - low) <= tolerance) return (position) => makeBrush(position, high);
    if (from > low && from < high) return (position) => shiftBrush(brush, position - from);
  }
  return (position) => makeBrush(from, position);
}

/** Move a brush without leaving the axis. */
function shiftBrush([low, high]: Brush, by: number): Brush {
  const shift = Math.min(1 - high, Math.max(-low, by));
  return [low + shift, high + shift];
}

/** Of each trial without a position. */
const NO_BIN = 255;

/** Return the bin of each trial on an axis; there are less than 255 bins. */
export function computeBins(positions: Float32Array, bins: number): Uint8Array {
  return Uint8Array.from(positions, (position) =>
    Number.isNaN(position) ? NO_BIN : Math.min(bins - 1, Math.max(0, Math.floor(position * bins))),
  );
}

/** Return the number of trials in each bin, of those that are set in `mask` if there is one. */
export function countBins(trialBins: Uint8Array, bins: number, mask?: Uint8Array): Int32Array {
  const counts = new Int32Array(NO_BIN + 1);
  for (let row = 0; row < trialBins.length; row++) {
    const bin = trialBins[row] ?? NO_BIN;
    if (!mask || mask[row]) counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts.subarray(0, bins);
}

/** Return the filters as an expression for the run filter, without those it does not support. */
export function toRunFilterExpression(
  trials: Trials,
  filters: ColumnFilters,
  reduction: string,
): string {
  return [...filters]
    .flatMap(([key, filter]) => {
      const field = findField(key, reduction);
      return field !== null && trials.findColumn(key) ? makeTerms(field, filter) : [];
    })
    .join(' and ');
}

/** Metrics of a group belong to a child run and are not values of the trial's run. */
function findField(key: string, reduction: string): string | null {
  if (key === 'name') return 'name';
  if (key.startsWith('hparam:')) return quoteIfNeeded(key.slice('hparam:'.length));
  const [, group, tag] = /^metric:([^|]*)\|(.*)$/s.exec(key) ?? [];
  const isSupported = group === '' && ['last', 'min', 'max'].includes(reduction);
  return isSupported && tag !== undefined ? `${reduction}(${quote(tag)})` : null;
}

function makeTerms(field: string, { range, values, pattern }: ColumnFilter): string[] {
  return [
    ...(range ? [`${field} >= ${range[0]}`, `${field} <= ${range[1]}`] : []),
    ...(values && values.length > 0
      ? [`${field} in (${values.map(quoteIfNeeded).join(', ')})`]
      : []),
    ...(pattern ? [`${field} ~ ${quote(pattern)}`] : []),
  ];
}

function quoteIfNeeded(text: string): string {
  const isPlain = /^[\w./-]+$/.test(text) && !/^(?:and|or|not|in|last|min|max)$/i.test(text);
  return isPlain ? text : quote(text);
}

function quote(text: string): string {
  return `"${text.replace(/"/g, '\\"')}"`;
}
