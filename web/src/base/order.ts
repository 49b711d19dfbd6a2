import { sortNatural } from './natural';

/** What items can be ordered by; a list counts as its words. */
export type Sortable = number | string | boolean | null | readonly string[];

/** In order of their values, with those that have none last in both directions. */
export function orderBy<Item>(
  items: readonly Item[],
  valueOf: (item: Item) => Sortable,
  descending: boolean,
): Item[] {
  const values = items.map(valueOf);
  const ranks = rankTexts(values);
  const keys = Float64Array.from(values, (value) => rankOf(value, ranks));
  const sign = descending ? -1 : 1;
  const compare = (a: number, b: number): number => sign * ((keys[a] ?? 0) - (keys[b] ?? 0));
  const placed = items.map((_, at) => at).filter((at) => !Number.isNaN(keys[at]));
  const rest = items.filter((_, at) => Number.isNaN(keys[at]));
  // One infinity less another is no number; such neighbours stay as they are.
  return [...placed.sort((a, b) => compare(a, b) || 0).map((at) => items[at] as Item), ...rest];
}

function rankOf(value: Sortable, ranks: ReadonlyMap<string, number>): number {
  if (typeof value === 'number') return value;
  const text = textOf(value);
  return text === null ? NaN : (ranks.get(text) ?? NaN);
}

/** Texts are compared once each, however many items have the same. */
function rankTexts(values: readonly Sortable[]): Map<string, number> {
  const texts = new Set(values.map(textOf).filter((text) => text !== null));
  return new Map(sortNatural(texts, (text) => text).map((text, rank) => [text, rank]));
}

function textOf(value: Sortable): string | null {
  if (value === null || typeof value === 'number') return null;
  const text = typeof value === 'object' ? value.join(', ') : String(value);
  return text === '' ? null : text;
}
