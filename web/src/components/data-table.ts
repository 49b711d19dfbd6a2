import type { Codec } from '../lib/codecs';
import { sortByValue, type Sortable } from '../lib/sorting';

/** One column of a table, for rows of any kind. */
export interface TableColumn<Row> {
  readonly key: string;
  readonly title: string;
  /** What the numbers are, for who hovers over the title. */
  readonly description?: string;
  /** In pixels; the first column takes what is left as well. */
  readonly width: number;
  /** Stands at the left, and is sorted from A to Z first. */
  readonly isText?: boolean;
  /** What rows are sorted by; null and NaN come last. */
  value(row: Row): Sortable;
  /** What is seen; without it the table's own snippet draws the cell. */
  text?(row: Row): string;
  /** How much of the cell a bar behind the text fills, of one. */
  bar?(row: Row): number;
  /** What the bar is painted with. */
  barColor?(row: Row): string;
}

export interface SortOrder {
  readonly key: string;
  readonly descending: boolean;
}

/** `self` from the lowest on, `-self` from the highest on. */
export const sortOrderCodec: Codec<SortOrder> = {
  parse: (text) => ({ key: text.replace(/^-/, ''), descending: text.startsWith('-') }),
  format: ({ key, descending }) => `${descending ? '-' : ''}${key}`,
};

export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly TableColumn<Row>[],
  { key, descending }: SortOrder,
): readonly Row[] {
  const column = columns.find((one) => one.key === key);
  return column ? sortByValue(rows, (row) => column.value(row), descending) : rows;
}

/** What a click on a heading makes of the order: numbers begin with the highest. */
export function nextSortOrder<Row>(
  order: SortOrder,
  { key, isText = false }: TableColumn<Row>,
): SortOrder {
  return { key, descending: order.key === key ? !order.descending : !isText };
}
