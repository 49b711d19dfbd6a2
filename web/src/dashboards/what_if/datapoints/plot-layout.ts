/**
 * Positions of datapoints: axes by column, facets by bins of columns or by words of a text, and packing
 * without axes.
 */
import { niceRange } from '../../../charts/axes/ticks';
import type { NumberRange } from '../../../charts/types';

/** The values of a column: numbers, or codes of categories. */
export interface PlotColumn {
  readonly numbers: Float64Array | null;
  readonly codes: Int32Array | null;
  readonly categories: readonly string[];
}

export interface PlotAxis {
  readonly kind: 'number' | 'category' | 'none';
  /** Ends of a numeric axis. */
  readonly domain: NumberRange;
  /** Names of the positions of a categorical axis, the most frequent first. */
  readonly categories: readonly string[];
  /** Position of each row from 0 to 1; NaN for a missing value. */
  readonly places: Float32Array;
}

/** Bins of a column, which become rows or columns of small plots. */
export interface Facet {
  readonly labels: readonly string[];
  /** The bin of each row. */
  readonly bins: Int32Array;
}

export const MAX_AXIS_CATEGORIES = 30;
/** Consecutive integers up to this many, such as classes, are spread like categories. */
const MAX_CLASSES = 10;
/** How often each of them occurs on average, at least. */
const MIN_REPEATS = 4;
const TICKS = 5;
/** Space between the outermost points and the ends of a numeric axis, as a fraction of it. */
const PADDING = 0.03;
/** How far points of one category are spread, as a fraction of its width. */
const SPREAD = 0.7;

interface FacetNames {
  readonly other: string;
  readonly missing: string;
}

/** Return the axis of a column, or a spread of points without one. */
export function makeAxis(column: PlotColumn | null, count: number, names: FacetNames): PlotAxis {
  if (!column || (!column.numbers && !column.codes)) {
    const places = Float32Array.from({ length: count }, (_, at) => spread(at));
    return { kind: 'none', domain: [0, 1], categories: [], places };
  }
  if (column.codes) {
    const { labels, bins } = rankCategories(
      column.codes,
      column.categories,
      MAX_AXIS_CATEGORIES,
      names,
    );
    const width = 1 / Math.max(1, labels.length);
    const places = Float32Array.from(bins, (bin, at) =>
      bin < 0 ? NaN : (bin + 0.5 + (spread(at) - 0.5) * SPREAD) * width,
    );
    return { kind: 'category', domain: [0, 1], categories: labels, places };
  }
  const numbers = column.numbers ?? new Float64Array();
  const classes = findClasses(numbers);
  if (classes) return makeAxis(classes, count, names);
  const domain = getNumberDomain(numbers);
  const scale = 1 / (domain[1] - domain[0]);
  const places = new Float32Array(count);
  for (let at = 0; at < count; at++) {
    const value = numbers[at] ?? NaN;
    places[at] = Number.isFinite(value) ? (value - domain[0]) * scale : NaN;
  }
  return { kind: 'number', domain, categories: [], places };
}

/** Return how many rows have no place, as a column with a numeric axis has no number for them. */
export function countUnplaced(columns: readonly (PlotColumn | null)[], count: number): number {
  const axes = columns.flatMap((column) =>
    column?.numbers && !findClasses(column.numbers) ? [column.numbers] : [],
  );
  if (axes.length === 0) return 0;
  let unplaced = 0;
  for (let at = 0; at < count; at++)
    if (axes.some((numbers) => !Number.isFinite(numbers[at]))) unplaced++;
  return unplaced;
}

/** Return integers such as 0 and 1 as categories, as most of their points would coincide. */
function findClasses(numbers: Float64Array): PlotColumn | null {
  const distinct = new Set<number>();
  let known = 0;
  for (let at = 0; at < numbers.length; at++) {
    const value = numbers[at] ?? NaN;
    if (Number.isNaN(value)) continue;
    if (!Number.isInteger(value)) return null;
    known++;
    distinct.add(value);
    if (distinct.size > MAX_CLASSES) return null;
  }
  const low = Math.min(...distinct);
  const isConsecutive = Math.max(...distinct) - low + 1 === distinct.size;
  if (!isConsecutive || known < MIN_REPEATS * distinct.size) return null;
  return {
    numbers: null,
    codes: Int32Array.from(numbers, (value) => (Number.isNaN(value) ? -1 : value - low)),
    categories: Array.from({ length: distinct.size }, (_, at) => String(low + at)),
  };
}

/** Return round numbers around the values, with space for the outermost points. */
function getNumberDomain(numbers: Float64Array): NumberRange {
  let [low, high] = [Infinity, -Infinity];
  for (let at = 0; at < numbers.length; at++) {
    const value = numbers[at] ?? NaN;
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  if (low === high) return [low - 0.5, high + 0.5];
  const [start, end] = niceRange([low, high], TICKS);
  const space = (end - start) * PADDING;
  return [Math.min(start, low - space), Math.max(end, high + space)];
}

/** Return the most frequent categories, and one bin for the others. */
function rankCategories(
  codes: Int32Array,
  categories: readonly string[],
  limit: number,
  names: FacetNames,
): Facet {
  const counts = new Float64Array(categories.length);
  let missing = 0;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? -1;
    if (code < 0) missing++;
    else counts[code] = (counts[code] ?? 0) + 1;
  }
  const order = [...categories.keys()].sort(
    (one, other) => (counts[other] ?? 0) - (counts[one] ?? 0) || one - other,
  );
  const shown = order.slice(0, limit);
  // Classes such as 0, 1 and 2 keep their order, so that facets by label and prediction match.
  if (shown.every((code) => Number.isFinite(Number(categories[code] || NaN))))
    shown.sort((one, other) => Number(categories[one]) - Number(categories[other]));
  const ranks = new Int32Array(categories.length).fill(shown.length);
  shown.forEach((code, rank) => (ranks[code] = rank));
  const hasOther = order.length > shown.length;
  const labels = shown.map((code) => categories[code] ?? '');
  if (hasOther) labels.push(names.other);
  const missingBin = labels.length;
  if (missing > 0) labels.push(names.missing);
  const bins = Int32Array.from(codes, (code) => (code < 0 ? missingBin : (ranks[code] ?? -1)));
  return { labels, bins };
}

/** Return bins of a column: categories, single values, or ranges of equal width. */
export function makeFacet(
  column: PlotColumn | null,
  count: number,
  buckets: number,
  names: FacetNames,
): Facet | null {
  if (!column || (!column.numbers && !column.codes)) return null;
  if (column.codes) return rankCategories(column.codes, column.categories, buckets, names);
  const numbers = column.numbers ?? new Float64Array();
  const distinct = new Set<number>();
  for (let at = 0; at < count && distinct.size <= buckets; at++) {
    const value = numbers[at] ?? NaN;
    if (Number.isFinite(value)) distinct.add(value);
  }
  if (distinct.size <= buckets) {
    const values = [...distinct].sort((one, other) => one - other);
    const bins = Int32Array.from(numbers, (value) => values.indexOf(value));
    return addMissingBin({ labels: values.map(String), bins }, names);
  }
  let [low, high] = [Infinity, -Infinity];
  for (const value of numbers) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const width = (high - low) / buckets || 1;
  const edge = (at: number): string => String(Number((low + at * width).toPrecision(3)));
  const labels = Array.from({ length: buckets }, (_, at) => `${edge(at)} – ${edge(at + 1)}`);
  const bins = Int32Array.from(numbers, (value) =>
    Number.isFinite(value) ? Math.min(buckets - 1, Math.floor((value - low) / width)) : -1,
  );
  return addMissingBin({ labels, bins }, names);
}

/** Put rows without a number, whose bin is -1, into a bin after all others. */
function addMissingBin({ labels, bins }: Facet, { missing }: FacetNames): Facet {
  if (!bins.includes(-1)) return { labels, bins };
  return { labels: [...labels, missing], bins: bins.map((bin) => (bin < 0 ? labels.length : bin)) };
}

/** A small plot, in pixels. */
export interface PlotCell {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

interface PlotSize {
  readonly width: number;
  readonly height: number;
}

export interface PlotMargins {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const CELL_GAP_PX = 10;
/** Of many cells, as a fraction of the space of one. */
const MAX_GAP = 0.2;

/** Return the cells of a grid, row by row. */
export function layoutCells(
  columns: number,
  lines: number,
  { width, height }: PlotSize,
  margins: PlotMargins,
): PlotCell[] {
  const plotWidth = Math.max(10, width - margins.left - margins.right);
  const plotHeight = Math.max(10, height - margins.top - margins.bottom);
  const gapX = Math.min(CELL_GAP_PX, (MAX_GAP * plotWidth) / columns);
  const gapY = Math.min(CELL_GAP_PX, (MAX_GAP * plotHeight) / lines);
  const cellWidth = (plotWidth - (columns - 1) * gapX) / columns;
  const cellHeight = (plotHeight - (lines - 1) * gapY) / lines;
  return Array.from({ length: columns * lines }, (_, at) => ({
    left: margins.left + (at % columns) * (cellWidth + gapX),
    top: margins.top + Math.floor(at / columns) * (cellHeight + gapY),
    width: cellWidth,
    height: cellHeight,
  }));
}

interface PlotContent {
  readonly x: PlotAxis;
  readonly y: PlotAxis;
  readonly facetX: Facet | null;
  readonly facetY: Facet | null;
  /** Order in which points are packed if there is no axis; null for the order of the rows. */
  readonly order: Uint32Array | null;
  /** Largest distance of packed points, in pixels. */
  readonly maxPitch?: number;
}

const DEFAULT_PITCH_PX = 14;

/** Return `x y z` of each row in pixels from the upper left; NaN for rows without a position. */
export function placePoints(
  content: PlotContent,
  cells: readonly PlotCell[],
  columns: number,
  count: number,
): Float32Array {
  const { x, y, facetX, facetY } = content;
  if (x.kind === 'none' && y.kind === 'none') return packPoints(content, cells, columns, count);
  const positions = new Float32Array(3 * count);
  for (let at = 0; at < count; at++) {
    const cell = cells[findCell(facetX, facetY, columns, at)];
    positions[3 * at] = cell ? cell.left + (x.places[at] ?? NaN) * cell.width : NaN;
    positions[3 * at + 1] = cell ? cell.top + (1 - (y.places[at] ?? NaN)) * cell.height : NaN;
  }
  return positions;
}

function findCell(facetX: Facet | null, facetY: Facet | null, columns: number, at: number): number {
  const column = facetX ? (facetX.bins[at] ?? -1) : 0;
  const line = facetY ? (facetY.bins[at] ?? -1) : 0;
  return column < 0 || line < 0 ? -1 : line * columns + column;
}

/** Fill each cell with its points from the lower left, with the same density everywhere. */
function packPoints(
  { facetX, facetY, order, maxPitch = DEFAULT_PITCH_PX }: PlotContent,
  cells: readonly PlotCell[],
  columns: number,
  count: number,
): Float32Array {
  const positions = new Float32Array(3 * count).fill(NaN);
  const counts = new Int32Array(cells.length);
  for (let at = 0; at < count; at++) {
    const cell = findCell(facetX, facetY, columns, at);
    if (cell >= 0) counts[cell] = (counts[cell] ?? 0) + 1;
  }
  const [first] = cells;
  if (!first) return positions;
  const most = Math.max(1, ...counts);
  const perRow = Math.max(1, Math.ceil(Math.sqrt((most * first.width) / first.height)));
  const lines = Math.ceil(most / perRow);
  const pitch = Math.min(maxPitch, first.width / perRow, first.height / lines);
  const used = new Int32Array(cells.length);
  for (let index = 0; index < count; index++) {
    const at = order ? (order[index] ?? 0) : index;
    const number = findCell(facetX, facetY, columns, at);
    const cell = cells[number];
    if (!cell) continue;
    const place = used[number] ?? 0;
    used[number] = place + 1;
    positions[3 * at] = cell.left + ((place % perRow) + 0.5) * pitch;
    positions[3 * at + 1] = cell.top + cell.height - (Math.floor(place / perRow) + 0.5) * pitch;
    positions[3 * at + 2] = 0;
  }
  return positions;
}

/** Return rows sorted by the value that colors them, so that equal colors are together. */
export function sortByColor(column: PlotColumn | null, count: number): Uint32Array | null {
  const keys = column?.numbers ?? column?.codes;
  if (!keys) return null;
  const order = Uint32Array.from({ length: count }, (_, at) => at);
  return order.sort((one, other) => (keys[one] ?? 0) - (keys[other] ?? 0) || one - other);
}

/** Return a number from 0 to 1 that is the same each time and differs between neighbors. */
function spread(at: number): number {
  return (at * 0.6180339887498949) % 1;
}

const WORDS = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu;
/** Scripts without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
/** Words of more rows, such as articles, say little about any of them. */
const MAX_SHARE = 0.5;
const MAX_CANDIDATES = 200;

let segmenter: Intl.Segmenter | null = null;

/** Return the different words of a text, in lower case. */
export function listWords(text: string): Set<string> {
  if (!UNSPACED.test(text)) return new Set(text.toLowerCase().match(WORDS) ?? []);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
  const parts = [...segmenter.segment(text.toLowerCase())];
  return new Set(parts.filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment));
}

/**
 * Return a word of each row as its category. The most frequent word gets all rows that contain it,
 * then the most frequent word of the remaining rows, and so on; rows with none of the `limit` words
 * are called `other`.
 */
export function makeWordColumn(column: PlotColumn, limit: number, other: string): PlotColumn {
  const { codes, categories } = column;
  if (!codes) return column;
  const rows = new Int32Array(categories.length);
  let known = 0;
  for (const code of codes) {
    if (code < 0) continue;
    rows[code] = (rows[code] ?? 0) + 1;
    known++;
  }
  const words = categories.map(listWords);
  const counts = new Map<string, number>();
  words.forEach((set, code) => {
    for (const word of set) counts.set(word, (counts.get(word) ?? 0) + (rows[code] ?? 0));
  });
  const candidates = [...counts]
    .filter(([, count]) => count <= Math.max(1, MAX_SHARE * known))
    .sort(([one, first], [two, second]) => second - first || (one < two ? -1 : 1))
    .slice(0, MAX_CANDIDATES)
    .map(([word]) => word);
  const chosen: string[] = [];
  const byText = new Int32Array(categories.length).fill(-1);
  while (chosen.length < limit) {
    const found = findMostFrequent(candidates, words, byText, rows);
    if (found === null) break;
    words.forEach((set, code) => {
      if ((byText[code] ?? 0) < 0 && set.has(found)) byText[code] = chosen.length;
    });
    chosen.push(found);
  }
  const rest = chosen.length;
  const hasRest = byText.some((word, code) => word < 0 && (rows[code] ?? 0) > 0);
  return {
    numbers: null,
    codes: codes.map((code) => {
      const word = byText[code] ?? -1;
      return code < 0 ? -1 : word < 0 ? rest : word;
    }),
    categories: [...chosen, ...(hasRest ? [other] : [])],
  };
}

/** Return the word of most rows whose text has no word yet; null if there is none. */
function findMostFrequent(
  candidates: readonly string[],
  words: readonly ReadonlySet<string>[],
  byText: Int32Array,
  rows: Int32Array,
): string | null {
  const counts = new Map(candidates.map((word) => [word, 0]));
  words.forEach((set, code) => {
    if ((byText[code] ?? 0) >= 0) return;
    for (const word of set) {
      const count = counts.get(word);
      if (count !== undefined) counts.set(word, count + (rows[code] ?? 0));
    }
  });
  let [best, most]: [string | null, number] = [null, 0];
  for (const [word, count] of counts) if (count > most) [best, most] = [word, count];
  return best;
}
