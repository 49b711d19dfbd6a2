import type { Sessions } from './column';

/** A column to sort by; of several the first counts most. */
export interface SortKey {
  readonly key: string;
  readonly descending: boolean;
}

/** The rows sorted by several columns; those without a number come last in both directions. */
export function sortRows(
  rows: Int32Array,
  keys: readonly SortKey[],
  sessions: Sessions,
): Int32Array {
  const columns = keys.flatMap(({ key, descending }) => {
    const column = sessions.find(key);
    return column
      ? [{ numbers: column.ranks?.() ?? column.numbers, sign: descending ? -1 : 1 }]
      : [];
  });
  if (columns.length === 0) return rows;
  return rows.slice().sort((a, b) => {
    for (const { numbers, sign } of columns) {
      const order = compare(numbers[a] ?? NaN, numbers[b] ?? NaN, sign);
      if (order !== 0) return order;
    }
    return a - b;
  });
}

function compare(one: number, other: number, sign: number): number {
  if (one === other) return 0;
  if (Number.isNaN(one)) return Number.isNaN(other) ? 0 : 1;
  if (Number.isNaN(other)) return -1;
  return one < other ? -sign : sign;
}

/**
 * What a click on a heading makes of the order: up, down, and as it was. With `more` the column is
 * put after those that count already.
 */
export function nextOrder(keys: readonly SortKey[], key: string, more: boolean): SortKey[] {
  const known = keys.find((one) => one.key === key);
  if (!more) {
    if (keys.length > 1 || !known) return [{ key, descending: false }];
    return known.descending ? [] : [{ key, descending: true }];
  }
  if (!known) return [...keys, { key, descending: false }];
  if (known.descending) return keys.filter((one) => one !== known);
  return keys.map((one) => (one === known ? { key, descending: true } : one));
}
