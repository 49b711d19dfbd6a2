/** Sort, rank and summarize values. */
const NUMBER = /[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?/g;
const bits = new DataView(new ArrayBuffer(8));

/**
 * Sort by name in natural order, as the server does: by path parts, so that a run and its children
 * stay together, and numbers by value, so that lr3e-4 comes before lr1e-3.
 */
export function sortNatural<Item>(items: Iterable<Item>, nameOf: (item: Item) => string): Item[] {
  return Array.from(items, (item) => ({
    item,
    name: nameOf(item),
    key: makeNaturalKey(nameOf(item)),
  }))
    .sort((a, b) => compareText(a.key, b.key) || compareText(a.name, b.name))
    .map(({ item }) => item);
}

function makeNaturalKey(name: string): string {
  return name.toLowerCase().replaceAll('/', '\0').replace(NUMBER, toSortableHex);
}

/** The big-endian bytes of non-negative floats sort like the floats. */
function toSortableHex(digits: string): string {
  bits.setFloat64(0, Number(digits));
  return `0${hex(bits.getUint32(0))}${hex(bits.getUint32(4))}`;
}

function hex(word: number): string {
  return word.toString(16).padStart(8, '0');
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A sort key; a list is compared as joined text. */
export type Sortable = number | string | boolean | null | readonly string[];

/** Sort by value, items without a value last in both directions. */
export function sortByValue<Item>(
  items: readonly Item[],
  valueOf: (item: Item) => Sortable,
  descending: boolean,
): Item[] {
  const values = items.map(valueOf);
  const ranks = rankTexts(values);
  const keys = Float64Array.from(values, (value) => getRank(value, ranks));
  const sign = descending ? -1 : 1;
  const compare = (a: number, b: number): number => sign * ((keys[a] ?? 0) - (keys[b] ?? 0));
  const placed = items.map((_, at) => at).filter((at) => !Number.isNaN(keys[at]));
  const rest = items.filter((_, at) => Number.isNaN(keys[at]));
  // The difference of two infinities is NaN; such items keep their order.
  return [...placed.sort((a, b) => compare(a, b) || 0).map((at) => items[at] as Item), ...rest];
}

function getRank(value: Sortable, ranks: ReadonlyMap<string, number>): number {
  if (typeof value === 'number') return value;
  const text = getSortText(value);
  return text === null ? NaN : (ranks.get(text) ?? NaN);
}

/** Rank distinct texts, so that each is compared only once. */
function rankTexts(values: readonly Sortable[]): Map<string, number> {
  const texts = new Set(values.map(getSortText).filter((text) => text !== null));
  return new Map(sortNatural(texts, (text) => text).map((text, rank) => [text, rank]));
}

function getSortText(value: Sortable): string | null {
  if (value === null || typeof value === 'number') return null;
  const text = typeof value === 'object' ? value.join(', ') : String(value);
  return text === '' ? null : text;
}

export interface SampleStats {
  readonly count: number;
  readonly mean: number;
  /** Sample standard deviation (n - 1); NaN for a single value. */
  readonly std: number;
}

/** Return statistics of the finite values; null if there are none. */
export function computeStats(values: Iterable<number>): SampleStats | null {
  let count = 0;
  let mean = 0;
  let squares = 0;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    // Welford's algorithm is numerically stable.
    const before = value - mean;
    mean += before / ++count;
    squares += before * (value - mean);
  }
  return count === 0 ? null : { count, mean, std: Math.sqrt(squares / (count - 1)) };
}

interface Extent {
  readonly low: number;
  readonly high: number;
}

type Columns = Iterable<readonly (number | null)[]>;

/** The fraction of values at each end that may be outliers. */
const OUTLIER_FRACTION = 0.03;
/** Outliers are excluded if they make the extent wider by this factor. */
const OUTLIER_RATIO = 3;

/** Return the range of the finite values of columns with gaps; null if there are none. */
export function getExtent(columns: Columns): Extent | null {
  let low = Infinity;
  let high = -Infinity;
  for (const column of columns) {
    for (const value of column) {
      if (value === null || !Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? { low, high } : null;
}

/** Return the extent without outliers that would hide the other values. */
export function getRobustExtent(columns: Columns): Extent | null {
  const all = [...columns];
  const whole = getExtent(all);
  if (!whole) return null;
  const values = all.flatMap((column) => column.filter((value) => Number.isFinite(value)));
  const sorted = Float64Array.from(values as number[]).sort();
  const low = sorted[Math.floor(OUTLIER_FRACTION * (sorted.length - 1))] ?? whole.low;
  const high = sorted[Math.ceil((1 - OUTLIER_FRACTION) * (sorted.length - 1))] ?? whole.high;
  const margin = (high - low) / 2;
  if (margin === 0 || whole.high - whole.low < OUTLIER_RATIO * (high - low)) return whole;
  return { low: Math.max(whole.low, low - margin), high: Math.min(whole.high, high + margin) };
}
