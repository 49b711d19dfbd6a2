import { compileTextFilter } from '../../../lib/text-filter';
import type { ColumnAxis } from './column-axes';
import { hasValue, type TrialColumn, type Trials } from './trials';

/** What a column lets through; all that is said has to hold. */
export interface ColumnFilter {
  /** Both ends belong to it. */
  readonly range?: readonly [number, number];
  /** The values that pass, as text. */
  readonly values?: readonly string[];
  /** A regular expression that has to match the value as text. */
  readonly pattern?: string;
  /** Sessions without a value pass as well. */
  readonly blank?: boolean;
}

/** Rules by the key of their column. */
export type ColumnFilters = ReadonlyMap<string, ColumnFilter>;

export const NO_FILTERS: ColumnFilters = new Map();

/** 1 for each session that passes all rules, of those that are `admitted` at all. */
export function applyFilters(
  sessions: Trials,
  rules: ColumnFilters,
  admitted?: Uint8Array,
): Uint8Array {
  const passing = admitted?.slice() ?? new Uint8Array(sessions.count).fill(1);
  for (const [key, rule] of rules) {
    const column = sessions.findColumn(key);
    if (column) applyFilter(column, rule, passing);
  }
  return passing;
}

/** The places of the sessions that pass. */
export function listMaskRows(passing: Uint8Array): Int32Array {
  const rows = new Int32Array(passing.length);
  let count = 0;
  for (let row = 0; row < passing.length; row++) if (passing[row]) rows[count++] = row;
  return rows.subarray(0, count);
}

function applyFilter(column: TrialColumn, rule: ColumnFilter, passing: Uint8Array): void {
  const { values } = column;
  const holds = compileColumnFilter(column, rule);
  const blank = rule.blank ? 1 : 0;
  for (let row = 0; row < passing.length; row++) {
    if (!passing[row]) continue;
    passing[row] = hasValue(column, row) ? Number(holds(values[row] ?? NaN)) : blank;
  }
}

function compileColumnFilter(column: TrialColumn, rule: ColumnFilter): (number: number) => boolean {
  const tests = [
    ...(rule.range ? [makeRangeTest(rule.range)] : []),
    ...(rule.values ? [makeValuesTest(column, rule.values)] : []),
    ...(rule.pattern ? [makePatternTest(column, rule.pattern)] : []),
  ];
  const [only] = tests;
  if (tests.length === 1 && only) return only;
  return (number) => tests.every((test) => test(number));
}

function makeRangeTest([low, high]: readonly [number, number]): (number: number) => boolean {
  return (number) => number >= low && number <= high;
}

function makeValuesTest(
  column: TrialColumn,
  values: readonly string[],
): (number: number) => boolean {
  const { categories } = column;
  const wanted = new Set(
    categories ? values.map((value) => categories.indexOf(value)) : values.map(Number),
  );
  return (number) => wanted.has(number);
}

function makePatternTest({ categories }: TrialColumn, text: string): (number: number) => boolean {
  const { matches } = compileTextFilter({ text, regex: true });
  // Each word is looked at once, however many sessions have it.
  const known = new Map<number, boolean>();
  return (number) => {
    const before = known.get(number);
    if (before !== undefined) return before;
    const found = matches(categories ? (categories[number] ?? '') : String(number));
    known.set(number, found);
    return found;
  };
}

/** The rules with another one for a column; a rule that says nothing is taken away. */
export function withFilter(
  rules: ColumnFilters,
  key: string,
  rule: ColumnFilter | null,
): ColumnFilters {
  const others = [...rules].filter(([other]) => other !== key);
  if (rule === null || isEmptyFilter(rule)) return new Map(others);
  return rules.has(key)
    ? new Map([...rules].map(([other, said]) => [other, other === key ? rule : said]))
    : new Map([...others, [key, rule]]);
}

function isEmptyFilter({ range, values, pattern }: ColumnFilter): boolean {
  return !range && !values && !pattern;
}

/** A part of an axis, the lower end first. */
export type Brush = readonly [number, number];

/** Digits enough for a link; a brush is never set more finely than its pixels. */
const RANGE_DIGITS = 6;

/** What a brush on an axis lets through. */
export function makeFilterFromBrush(axis: ColumnAxis, [from, to]: Brush): ColumnFilter {
  const { categories } = axis.column;
  const [one, other] = [axis.toValue(from), axis.toValue(to)];
  const [low, high] = one <= other ? [one, other] : [other, one];
  if (categories) return { values: categories.filter((_, place) => place >= low && place <= high) };
  return {
    range: [roundOutward(low, high - low, Math.floor), roundOutward(high, high - low, Math.ceil)],
  };
}

/** Where a rule is seen on an axis; null where it is no part of one. */
export function findBrushOfFilter(axis: ColumnAxis, { range, values }: ColumnFilter): Brush | null {
  if (range)
    return makeBrush(
      clampPosition(axis.toPosition(range[0]), 0),
      clampPosition(axis.toPosition(range[1]), 1),
    );
  const { categories } = axis.column;
  if (!values || !categories || values.length === 0) return null;
  const places = values.map((value) => categories.indexOf(value)).filter((place) => place >= 0);
  const [low, high] = [Math.min(...places), Math.max(...places)];
  // Words with others between them are not one part of the axis.
  if (places.length === 0 || high - low + 1 !== places.length) return null;
  const half = 0.5 / categories.length;
  const [from, to] = makeBrush(axis.toPosition(low), axis.toPosition(high));
  return [from - half, to + half];
}

function makeBrush(one: number, other: number): Brush {
  return one <= other ? [one, other] : [other, one];
}

function clampPosition(place: number, otherwise: number): number {
  return Number.isNaN(place) ? otherwise : Math.min(1, Math.max(0, place));
}

/** Rounded outwards, so that what was under the brush stays in it. */
function roundOutward(value: number, span: number, round: (value: number) => number): number {
  const size = Math.max(Math.abs(span), Math.abs(value) * 1e-9);
  if (!(size > 0) || !Number.isFinite(size)) return value;
  const unit = 10 ** (Math.floor(Math.log10(size)) - RANGE_DIGITS);
  return Number((round(value / unit) * unit).toPrecision(15));
}

/** Closer to the end of a brush than this, the end is moved and not the whole, in pixels. */
const BRUSH_HANDLE_PX = 6;

/** What a drag along an axis does to the brush that is there. */
export type BrushDrag = (place: number) => Brush;

/**
 * Begins at a place: the end of a brush is pulled, its middle moves it, and anywhere else a new one
 * begins. `pixels` is how long the axis is.
 */
export function startBrushDrag(brush: Brush | null, from: number, pixels: number): BrushDrag {
  const grip = BRUSH_HANDLE_PX / pixels;
  if (brush) {
    const [low, high] = brush;
    if (Math.abs(from - high) <= grip) return (place) => makeDraggedBrush(low, place);
    if (Math.abs(from - low) <= grip) return (place) => makeDraggedBrush(place, high);
    if (from > low && from < high) return (place) => shiftBrush(brush, place - from);
  }
  return (place) => makeDraggedBrush(from, place);
}

function makeDraggedBrush(one: number, other: number): Brush {
  return one <= other ? [one, other] : [other, one];
}

/** Moved as far as the ends of the axis allow. */
function shiftBrush([low, high]: Brush, by: number): Brush {
  const shift = Math.min(1 - high, Math.max(-low, by));
  return [low + shift, high + shift];
}

/** How many sessions stand in each part of an axis. */
export interface PositionHistogram {
  readonly all: Int32Array;
  readonly passing: Int32Array;
  readonly maxCount: number;
}

export function countPositions(
  places: Float32Array,
  passing: Uint8Array,
  bins: number,
): PositionHistogram {
  const all = new Int32Array(bins);
  const among = new Int32Array(bins);
  for (let row = 0; row < places.length; row++) {
    const place = places[row] ?? NaN;
    if (Number.isNaN(place)) continue;
    const bin = Math.min(bins - 1, Math.max(0, Math.floor(place * bins)));
    all[bin] = (all[bin] ?? 0) + 1;
    if (passing[row]) among[bin] = (among[bin] ?? 0) + 1;
  }
  return { all, passing: among, maxCount: Math.max(1, ...all) };
}

/** As many bins as an axis has words, or enough to see the shape of numbers. */
export function binsOf({ column }: ColumnAxis, usual: number): number {
  return column.categories ? Math.max(1, column.categories.length) : usual;
}

/** What of the rules the filter of the run table can say, in its language. */
export function toRunFilterExpression(sessions: Trials, rules: ColumnFilters, how: string): string {
  return [...rules]
    .flatMap(([key, rule]) => {
      const field = findField(key, how);
      return field !== null && sessions.findColumn(key) ? makeTerms(field, rule) : [];
    })
    .join(' and ');
}

/** Metrics of runs below a session are not known of the session itself. */
function findField(key: string, how: string): string | null {
  if (key === 'name') return 'name';
  if (key.startsWith('hparam:')) return quoteIfNeeded(key.slice('hparam:'.length));
  const [, group, tag] = /^metric:([^|]*)\|(.*)$/s.exec(key) ?? [];
  const isSaid = group === '' && ['last', 'min', 'max'].includes(how);
  return isSaid && tag !== undefined ? `${how}(${quote(tag)})` : null;
}

function makeTerms(field: string, { range, values, pattern }: ColumnFilter): string[] {
  return [
    ...(range ? [`${field} >= ${range[0]}`, `${field} <= ${range[1]}`] : []),
    ...(values ? [`${field} in (${values.map(quoteIfNeeded).join(', ')})`] : []),
    ...(pattern ? [`${field} ~ ${quote(pattern)}`] : []),
  ];
}

/** Plain words need no quotes. */
function quoteIfNeeded(text: string): string {
  const isPlain = /^[\w./-]+$/.test(text) && !/^(?:and|or|not|in|last|min|max)$/i.test(text);
  return isPlain ? text : quote(text);
}

function quote(text: string): string {
  return `"${text.replace(/"/g, '\\"')}"`;
}
