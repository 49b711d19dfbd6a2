import { parseJsonNumber } from '../api/decode';
import type { NearestPointRow, LineRow, RangeStatsRow } from '../api/schemas';
import type { Line } from '../charts/types';
import { formatDuration, formatDateTime, formatStep, formatValue } from '../lib/format';
import { lineId } from './chart-lines';

export interface ValueTableCell {
  readonly text: string;
  /** What rows are sorted by. */
  readonly sortKey: number;
}

export interface ValueTableRow {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  readonly cells: readonly ValueTableCell[];
}

export interface ValueTableData {
  readonly columns: readonly string[];
  readonly rows: readonly ValueTableRow[];
}

type Maybe = number | null;

const AT_COLUMNS = ['Smoothed', 'Value', 'Step', 'Relative', 'Time'];
const RANGE_COLUMNS = [
  ...['Start', 'End', 'Change', '%', 'Min', 'Max', 'Mean'],
  ...['Start step', 'End step', 'Points'],
];

const EMPTY_CELL: ValueTableCell = { text: '', sortKey: NaN };

const value = (number: Maybe): ValueTableCell =>
  number === null ? EMPTY_CELL : { text: formatValue(number), sortKey: number };
const step = (number: Maybe): ValueTableCell =>
  number === null ? EMPTY_CELL : { text: formatStep(number), sortKey: number };
const span = (number: Maybe): ValueTableCell =>
  number === null ? EMPTY_CELL : { text: formatDuration(number), sortKey: number };
const moment = (number: Maybe): ValueTableCell =>
  number === null ? EMPTY_CELL : { text: formatDateTime(new Date(number * 1000)), sortKey: number };

/** Values at one place. */
export function valuesTable(
  lines: readonly Line[],
  rows: readonly NearestPointRow[],
): ValueTableData {
  const found = new Map(rows.map((row) => [lineId(row.run, row.tag), row]));
  return buildTable(AT_COLUMNS, lines, (id) => {
    const row = found.get(id);
    if (!row) return null;
    return [
      value(parseJsonNumber(row.smoothed ?? row.value)),
      value(parseJsonNumber(row.value)),
      step(row.step),
      span(parseJsonNumber(row.relative_s)),
      moment(parseJsonNumber(row.wall_time)),
    ];
  });
}

/** The values that lines end with. */
export function lastValuesTable(
  lines: readonly Line[],
  answers: readonly LineRow[],
): ValueTableData {
  const rows = answers.flatMap(({ run, tag, first, last }): NearestPointRow[] => {
    if (!last) return [];
    const begin = parseJsonNumber(first?.wall_time);
    const end = parseJsonNumber(last.wall_time);
    const relative_s = begin === null || end === null ? NaN : end - begin;
    return [{ run, tag, relative_s, ...last }];
  });
  return valuesTable(lines, rows);
}

/** What lines do between two places. */
export function rangeTable(lines: readonly Line[], rows: readonly RangeStatsRow[]): ValueTableData {
  const found = new Map(rows.map((row) => [lineId(row.run, row.tag), row]));
  return buildTable(RANGE_COLUMNS, lines, (id) => {
    const row = found.get(id);
    if (!row) return null;
    const ratio = parseJsonNumber(row.change_ratio);
    return [
      value(parseJsonNumber(row.start?.value)),
      value(parseJsonNumber(row.stop?.value)),
      value(parseJsonNumber(row.change)),
      ratio === null ? EMPTY_CELL : { text: `${formatValue(ratio * 100, 3)} %`, sortKey: ratio },
      value(parseJsonNumber(row.min?.value)),
      value(parseJsonNumber(row.max?.value)),
      value(parseJsonNumber(row.mean)),
      step(row.start?.step ?? null),
      step(row.stop?.step ?? null),
      step(row.count),
    ];
  });
}

function buildTable(
  columns: readonly string[],
  lines: readonly Line[],
  cellsOf: (id: string) => ValueTableCell[] | null,
): ValueTableData {
  const rows = lines.flatMap(({ id, label, color }) => {
    const cells = cellsOf(id);
    return cells ? [{ id, label, color, cells }] : [];
  });
  return { columns, rows };
}

/** Sorted by a column, `-` before its name turns it around; as they came for any other name. */
export function sortTable(table: ValueTableData, sort: string): readonly ValueTableRow[] {
  const name = sort.replace(/^-/, '');
  const sign = sort.startsWith('-') ? -1 : 1;
  const at = table.columns.indexOf(name);
  if (name === 'Run') return sign < 0 ? table.rows.toReversed() : table.rows;
  if (at < 0) return table.rows;
  const key = (row: ValueTableRow): number => {
    const value = row.cells[at]?.sortKey ?? NaN;
    return Number.isNaN(value) ? Infinity : sign * value;
  };
  return table.rows.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

/** What a click on the heading of a column makes of the order. */
export function nextSort(sort: string, column: string): string {
  return sort === column ? `-${column}` : sort === `-${column}` ? '' : column;
}
