import type { Codec } from '../lib/codecs';
import { sortByValue, type Sortable } from '../lib/sorting';

export interface TableColumn<Row> {
  readonly key: string;
  readonly title: string;
  /** Tooltip of the title. */
  readonly description?: string;
  /**
   * In pixels; the first column also takes the remaining space. A minimum in a table whose columns
   * fit their content.
   */
  readonly width: number;
  /** Left-aligned, and sorted in ascending order first. */
  readonly isText?: boolean;
  /** The sort key; null and NaN come last. Without it, rows cannot be sorted by the column. */
  value?(row: Row): Sortable;
  /** The text of a cell; without it, the `cell` snippet of the table renders the cell. */
  text?(row: Row): string;
  /** Tooltip of a cell; texts of left-aligned columns have themselves as tooltip. */
  tooltip?(row: Row): string;
  /** Length of a bar behind the text, as a fraction of the cell. */
  bar?(row: Row): number;
  barColor?(row: Row): string;
}

export interface SortOrder {
  readonly key: string;
  readonly descending: boolean;
}

/** `self` is ascending, `-self` descending. */
export const sortOrderCodec: Codec<SortOrder> = {
  parse: (text) => ({ key: text.replace(/^-/, ''), descending: text.startsWith('-') }),
  format: ({ key, descending }) => `${descending ? '-' : ''}${key}`,
};

export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly TableColumn<Row>[],
  sortOrder: SortOrder | null,
): readonly Row[] {
  const column = columns.find(({ key }) => key === sortOrder?.key);
  if (!sortOrder || !column?.value) return rows;
  return sortByValue(rows, (row) => column.value?.(row) ?? null, sortOrder.descending);
}

/** Return the order after a click on a column title. Numbers are sorted in descending order first. */
export function nextSortOrder<Row>(
  order: SortOrder | null,
  { key, isText = false }: TableColumn<Row>,
): SortOrder {
  return { key, descending: order?.key === key ? !order.descending : !isText };
}
