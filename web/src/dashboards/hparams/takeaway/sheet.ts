import type { Table } from '../../../wall/takeaway/table';
import { type Column, hasValue } from '../model/column';
import type { Study } from '../study.svelte';

/** The table as it is shown, in plain values. */
export function sheetOf({ columns, sessions, sorted }: Study): Table {
  return {
    columns: ['name', ...columns.map(({ title }) => title)],
    rows: Array.from(sorted, (row) => [
      sessions.names[row] ?? '',
      ...columns.map((column) => cellOf(column, row)),
    ]),
  };
}

function cellOf(column: Column, row: number): string | number | null {
  if (!hasValue(column, row)) return null;
  const number = column.numbers[row] ?? NaN;
  if (column.words) return column.words[number] ?? '';
  if (column.meaning === 'time')
    return Number.isFinite(number) ? new Date(number * 1000).toISOString() : null;
  return number;
}

/** As the server writes it: what is no number in JSON is a word. */
export function writeJson({ columns, rows }: Table): string {
  const plain = rows.map((cells) =>
    cells.map((cell) => (typeof cell === 'number' && !Number.isFinite(cell) ? String(cell) : cell)),
  );
  return JSON.stringify({ header: columns, rows: plain });
}
