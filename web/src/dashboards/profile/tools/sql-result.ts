import type { QueryColumn, QueryResult } from '../../../api/schemas';
import type { ExportTable } from '../../../cards/export';
import * as m from '../../../catalog/profile';
import type { TableColumn } from '../../../components/data-table';
import { formatInteger, formatValue } from '../../../lib/format';
import { getSpanAroundEvent, type TraceLocation } from '../captures';

type Cell = QueryColumn['values'][number];

/** A row of a result: its index, and its cells in the order of the columns. */
export interface SqlRow {
  readonly index: number;
  readonly cells: readonly Cell[];
}

const DIGITS = 6;
const CHARACTER_PX = 7.5;
const PADDING_PX = 28;
const MIN_WIDTH_PX = 72;
const MAX_WIDTH_PX = 420;
/** Rows that the width of a column depends on. */
const MEASURED_ROWS = 200;
const PS_PER_MS = 1e9;

export function makeSqlRows({ columns }: QueryResult): SqlRow[] {
  const count = columns[0]?.values.length ?? 0;
  return Array.from({ length: count }, (_, index) => ({
    index,
    cells: columns.map(({ values }) => values[index] ?? null),
  }));
}

export function formatCell(value: Cell): string {
  if (value === null) return '';
  if (typeof value !== 'number') return String(value);
  return Number.isInteger(value) ? formatInteger(value) : formatValue(value, DIGITS);
}

/** Return the columns of a table. With links, the `cell` snippet renders the first one. */
export function makeSqlColumns(
  { columns }: QueryResult,
  rows: readonly SqlRow[],
  hasLinks: boolean,
): TableColumn<SqlRow>[] {
  return columns.map(({ name, type }, at) => {
    const texts = rows.slice(0, MEASURED_ROWS).map(({ cells }) => formatCell(cells[at] ?? null));
    const length = texts.reduce((max, text) => Math.max(max, text.length), name.length);
    const width = Math.round(length * CHARACTER_PX + PADDING_PX);
    const isNumber = type === 'number';
    const text = ({ cells }: SqlRow): string => formatCell(cells[at] ?? null);
    return {
      // A result may have several columns of one name.
      key: String(at),
      title: name,
      width: Math.min(Math.max(width, MIN_WIDTH_PX), MAX_WIDTH_PX),
      isText: !isNumber,
      value: ({ cells }) => {
        const cell = cells[at] ?? null;
        return typeof cell === 'boolean' ? Number(cell) : cell;
      },
      ...(hasLinks && at === 0 ? {} : { text }),
      ...(isNumber ? { tooltip: ({ cells }: SqlRow) => String(cells[at] ?? '') } : {}),
    };
  });
}

/** Return a function that finds the place of a row in the trace; null if rows have none. */
export function makeLocator({
  columns,
}: QueryResult): ((row: SqlRow) => Partial<TraceLocation> | null) | null {
  const find = (name: string): number => columns.findIndex((column) => column.name === name);
  const [event, start, duration] = [find('event'), find('start_ms'), find('duration_ms')];
  if (event < 0 && start < 0) return null;
  return ({ cells }) => {
    const number = cells[event];
    if (typeof number === 'number') return { event: number };
    const [startMs, durationMs] = [cells[start], cells[duration]];
    if (typeof startMs !== 'number') return null;
    const span = getSpanAroundEvent({
      start_ps: startMs * PS_PER_MS,
      duration_ps: (typeof durationMs === 'number' ? durationMs : 0) * PS_PER_MS,
    });
    return { span };
  };
}

/** A row that has a place in the trace: an event, or else a time span in picoseconds. */
export interface RowPlace {
  readonly event: number | null;
  readonly start: number;
  readonly end: number;
}

/** Return the places of all rows that have one, in their order and each once. */
export function listPlaces({ columns }: QueryResult): RowPlace[] {
  const find = (name: string): QueryColumn['values'] =>
    columns.find((column) => column.name === name)?.values ?? [];
  const [events, starts, durations] = [find('event'), find('start_ms'), find('duration_ms')];
  const places = new Map<string, RowPlace>();
  for (let row = 0; row < (columns[0]?.values.length ?? 0); row++) {
    const [event, startMs, durationMs] = [events[row], starts[row], durations[row]];
    const start = typeof startMs === 'number' ? startMs * PS_PER_MS : NaN;
    const end = start + (typeof durationMs === 'number' ? durationMs * PS_PER_MS : 0);
    if (typeof event === 'number') places.set(`${event}`, { event, start, end });
    else if (Number.isFinite(start)) places.set(`${start}~${end}`, { event: null, start, end });
  }
  return [...places.values()];
}

export function makeSqlExport({ columns }: QueryResult, rows: readonly SqlRow[]): ExportTable {
  return {
    columns: columns.map(({ name }) => name),
    rows: rows.map(({ cells }) =>
      cells.map((cell) => (typeof cell === 'boolean' ? String(cell) : cell)),
    ),
  };
}

export interface SqlExample {
  readonly title: string;
  readonly sql: string;
}

export const EXAMPLES: readonly SqlExample[] = [
  {
    title: m.sqlExampleLongest,
    sql: `SELECT event, name, track, step, start_ms, duration_ms
FROM events
WHERE on_device AND category NOT LIKE '%annotation%'
ORDER BY duration_ms DESC
LIMIT 100`,
  },
  {
    title: m.sqlExampleNames,
    sql: `SELECT name, count(*) AS calls, sum(self_ms) AS self_ms,
  sum(duration_ms) AS total_ms, max(duration_ms) AS max_ms
FROM events
GROUP BY name
ORDER BY self_ms DESC
LIMIT 100`,
  },
  {
    title: m.sqlExampleSteps,
    sql: `SELECT name, total_ms, total_ms - (SELECT median(total_ms) FROM steps) AS above_median_ms,
  device_compute_ms, input_ms, start_ms, total_ms AS duration_ms
FROM steps
ORDER BY total_ms DESC`,
  },
  {
    title: m.sqlExampleGaps,
    sql: `SELECT event, name, track, gap_ms
FROM (
  SELECT *, start_ms - max(start_ms + duration_ms) OVER (
    PARTITION BY process, track ORDER BY start_ms, event
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) AS gap_ms
  FROM events
  WHERE on_device AND category NOT LIKE '%annotation%'
)
WHERE gap_ms > 0
ORDER BY gap_ms DESC
LIMIT 100`,
  },
  {
    title: m.sqlExampleOps,
    sql: `SELECT step, op, count(*) AS calls, sum(duration_ms) AS ms
FROM events
WHERE on_device AND step >= 0
GROUP BY step, op
ORDER BY step, ms DESC`,
  },
  {
    title: m.sqlExampleRates,
    sql: `SELECT name, type, count, self_ms, flops / self_ms / 1e9 AS tflops_per_s,
  bytes / self_ms / 1e6 AS gb_per_s
FROM ops
WHERE side = 'device' AND flops IS NOT NULL AND self_ms > 0
ORDER BY self_ms DESC`,
  },
];
