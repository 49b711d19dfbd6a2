import { readNumber } from '../../api/numbers';
import type { AtRow, LineAnswer, RangeRow } from '../../api/scalars';
import type { Line } from '../../charts/types';
import { formatDuration, formatMoment, formatStep, formatValue } from '../../base/format';
import { lineId } from '../data/drawing';

export interface Cell {
  readonly text: string;
  /** What rows are sorted by. */
  readonly key: number;
}

export interface TableRow {
  readonly id: string;
  readonly label: string;
  readonly colour: string;
  readonly cells: readonly Cell[];
}

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly TableRow[];
}

type Maybe = number | null;

const AT_COLUMNS = ['Smoothed', 'Value', 'Step', 'Relative', 'Time'];
const RANGE_COLUMNS = [
  ...['Start', 'End', 'Change', '%', 'Min', 'Max', 'Mean'],
  ...['Start step', 'End step', 'Points'],
];

const NOTHING: Cell = { text: '', key: NaN };

const value = (number: Maybe): Cell =>
  number === null ? NOTHING : { text: formatValue(number), key: number };
const step = (number: Maybe): Cell =>
  number === null ? NOTHING : { text: formatStep(number), key: number };
const span = (number: Maybe): Cell =>
  number === null ? NOTHING : { text: formatDuration(number), key: number };
const moment = (number: Maybe): Cell =>
  number === null ? NOTHING : { text: formatMoment(new Date(number * 1000)), key: number };

/** Values at one place. */
export function tableAt(lines: readonly Line[], rows: readonly AtRow[]): Table {
  const found = new Map(rows.map((row) => [lineId(row.run, row.tag), row]));
  return build(AT_COLUMNS, lines, (id) => {
    const row = found.get(id);
    if (!row) return null;
    return [
      value(readNumber(row.smoothed ?? row.value)),
      value(readNumber(row.value)),
      step(row.step),
      span(readNumber(row.relative_s)),
      moment(readNumber(row.wall_time)),
    ];
  });
}

/** The values that lines end with. */
export function tableOfLast(lines: readonly Line[], answers: readonly LineAnswer[]): Table {
  const rows = answers.flatMap(({ run, tag, first, last }): AtRow[] => {
    if (!last) return [];
    const begin = readNumber(first?.wall_time);
    const end = readNumber(last.wall_time);
    const relative_s = begin === null || end === null ? NaN : end - begin;
    return [{ run, tag, relative_s, ...last }];
  });
  return tableAt(lines, rows);
}

/** What lines do between two places. */
export function tableOver(lines: readonly Line[], rows: readonly RangeRow[]): Table {
  const found = new Map(rows.map((row) => [lineId(row.run, row.tag), row]));
  return build(RANGE_COLUMNS, lines, (id) => {
    const row = found.get(id);
    if (!row) return null;
    const ratio = readNumber(row.change_ratio);
    return [
      value(readNumber(row.start?.value)),
      value(readNumber(row.stop?.value)),
      value(readNumber(row.change)),
      ratio === null ? NOTHING : { text: `${formatValue(ratio * 100, 3)} %`, key: ratio },
      value(readNumber(row.min?.value)),
      value(readNumber(row.max?.value)),
      value(readNumber(row.mean)),
      step(row.start?.step ?? null),
      step(row.stop?.step ?? null),
      step(row.count),
    ];
  });
}

function build(
  columns: readonly string[],
  lines: readonly Line[],
  cellsOf: (id: string) => Cell[] | null,
): Table {
  const rows = lines.flatMap(({ id, label, colour }) => {
    const cells = cellsOf(id);
    return cells ? [{ id, label, colour, cells }] : [];
  });
  return { columns, rows };
}

/** Sorted by a column, `-` before its name turns it around; as they came for any other name. */
export function sortTable(table: Table, sort: string): readonly TableRow[] {
  const name = sort.replace(/^-/, '');
  const sign = sort.startsWith('-') ? -1 : 1;
  const at = table.columns.indexOf(name);
  if (name === 'Run') return sign < 0 ? table.rows.toReversed() : table.rows;
  if (at < 0) return table.rows;
  const key = (row: TableRow): number => {
    const value = row.cells[at]?.key ?? NaN;
    return Number.isNaN(value) ? Infinity : sign * value;
  };
  return table.rows.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

/** What a click on the heading of a column makes of the order. */
export function nextSort(sort: string, column: string): string {
  return sort === column ? `-${column}` : sort === `-${column}` ? '' : column;
}
