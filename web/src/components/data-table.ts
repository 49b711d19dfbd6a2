import { type Codec, list } from '../lib/codecs';
import { type Sortable, sortByValue } from '../lib/arrays';

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

/** Several columns, separated by commas. Later columns order the rows that are equal before. */
export const sortOrdersCodec: Codec<readonly SortOrder[]> = {
  parse: (text) => list.parse(text).map(sortOrderCodec.parse),
  format: (orders) => list.format(orders.map(sortOrderCodec.format)),
};

/**
 * Return the sort keys after a click on a column header: ascending, descending, then unsorted. With
 * `add`, the column is added to the present keys.
 */
export function cycleSort(keys: readonly SortOrder[], key: string, add: boolean): SortOrder[] {
  const current = keys.find((candidate) => candidate.key === key);
  if (!add) {
    if (keys.length > 1 || !current) return [{ key, descending: false }];
    return current.descending ? [] : [{ key, descending: true }];
  }
  if (!current) return [...keys, { key, descending: false }];
  if (current.descending) return keys.filter((candidate) => candidate !== current);
  return keys.map((candidate) => (candidate === current ? { key, descending: true } : candidate));
}

/** Move a key before another one; to the end if that is null. */
export function moveKey(keys: readonly string[], moved: string, before: string | null): string[] {
  if (moved === before) return [...keys];
  const others = keys.filter((key) => key !== moved);
  const index = before === null ? -1 : others.indexOf(before);
  return index < 0
    ? [...others, moved]
    : [...others.slice(0, index), moved, ...others.slice(index)];
}

/** A column of a table whose columns can be moved and resized. */
export interface HeadColumn {
  readonly key: string;
  readonly title: string;
  /** Tooltip of the title. */
  readonly description: string;
  /** In pixels. */
  readonly width: number;
  /** The position of a sticky column; null if the column scrolls. */
  readonly stickyLeft: number | null;
  /** Aligned left. */
  readonly isText: boolean;
  readonly isEmphasized: boolean;
  /** It stays first and has no menu. */
  readonly isFixed: boolean;
}

export const MIN_COLUMN_WIDTH_PX = 56;
export const MAX_COLUMN_WIDTH_PX = 600;

const CHARACTER_PX = 7.5;

/** Return the width of a column in which the longest name is not cut, within the limits. */
export function fitNames(
  names: readonly string[],
  { padding, min, max }: Readonly<Record<'padding' | 'min' | 'max', number>>,
): number {
  const longest = names.reduce((length, name) => Math.max(length, name.length), 0);
  return Math.round(Math.min(Math.max(longest * CHARACTER_PX + padding, min), Math.max(min, max)));
}
