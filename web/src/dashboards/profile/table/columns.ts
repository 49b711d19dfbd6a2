import type { Codec } from '../../../base/codec';
import { orderBy, type Sortable } from '../../../base/order';

/** One column of a table, for rows of any kind. */
export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  /** What the numbers are, for who hovers over the title. */
  readonly about?: string;
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
  colour?(row: Row): string;
}

export interface Order {
  readonly key: string;
  readonly descending: boolean;
}

/** `self` from the lowest on, `-self` from the highest on. */
export const orderCodec: Codec<Order> = {
  parse: (text) => ({ key: text.replace(/^-/, ''), descending: text.startsWith('-') }),
  format: ({ key, descending }) => `${descending ? '-' : ''}${key}`,
};

export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { key, descending }: Order,
): readonly Row[] {
  const column = columns.find((one) => one.key === key);
  return column ? orderBy(rows, (row) => column.value(row), descending) : rows;
}

/** What a click on a heading makes of the order: numbers begin with the highest. */
export function nextOrder<Row>(order: Order, { key, isText = false }: Column<Row>): Order {
  return { key, descending: order.key === key ? !order.descending : !isText };
}
