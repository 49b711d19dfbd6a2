/** The rows and columns of the tables of a scalar card. */
import { parseJsonNumber } from '../api/columns';
import type { LineRow, NearestPointRow, PointRow, RangeStatsRow } from '../api/schemas';
import * as common from '../catalog/common';
import * as m from '../catalog/scalars';
import type { Band, Line } from '../charts/types';
import type { TableColumn } from '../components/data-table';
import {
  formatDateTime,
  formatDuration,
  formatInteger,
  formatStep,
  formatValue,
} from '../lib/format';
import { makeLineId, groupRowsByLine } from './chart-lines';

export interface ValueCell {
  readonly text: string;
  readonly sortKey: number;
  /** The value with all digits. */
  readonly title?: string;
  /** The step of a value. */
  readonly step?: string;
}

export interface ValueTableRow {
  /** The id of the line. */
  readonly id: string;
  readonly label: string;
  readonly color: string;
  readonly cells: Readonly<Record<string, ValueCell>>;
}

export interface ValueTable {
  readonly columns: readonly TableColumn<ValueTableRow>[];
  readonly rows: readonly ValueTableRow[];
}

/** The key of the first column. */
export const RUN_COLUMN = 'run';

type Columns = Readonly<Record<string, { readonly title: string; readonly width: number }>>;

const POINT_COLUMNS: Columns = {
  smoothed: { title: m.columnSmoothed, width: 86 },
  value: { title: m.columnValue, width: 78 },
  step: { title: common.step, width: 70 },
  relative: { title: common.axisRelative, width: 96 },
  time: { title: common.time, width: 150 },
};
const RANGE_COLUMNS: Columns = {
  start: { title: m.columnStartValue, width: 78 },
  end: { title: m.columnEndValue, width: 78 },
  change: { title: common.change, width: 82 },
  change_percent: { title: m.columnChangePercent, width: 74 },
  min: { title: common.statisticMin, width: 78 },
  max: { title: common.statisticMax, width: 78 },
  mean: { title: common.mean, width: 78 },
  start_step: { title: m.columnStartStep, width: 84 },
  end_step: { title: m.columnEndStep, width: 84 },
  points: { title: common.points, width: 70 },
};
const SUMMARY_COLUMNS: Columns = {
  last: { title: common.statisticLast, width: 110 },
  min: { title: common.statisticMin, width: 110 },
  max: { title: common.statisticMax, width: 110 },
  first: { title: common.statisticFirst, width: 110 },
  points: { title: common.points, width: 70 },
};

const EMPTY_CELL: ValueCell = { text: '', sortKey: NaN };

function makeCell(value: number | null, format: (value: number) => string): ValueCell {
  return value === null ? EMPTY_CELL : { text: format(value), sortKey: value };
}

const formatTime = (seconds: number): string => formatDateTime(new Date(seconds * 1000));
const formatRatio = (ratio: number): string =>
  common.percent({ value: formatValue(ratio * 100, 3) });
function valueCell(json: Parameters<typeof parseJsonNumber>[0]): ValueCell {
  const value = parseJsonNumber(json);
  return value === null ? EMPTY_CELL : { ...makeCell(value, formatValue), title: String(value) };
}
const stepCell = (step: number | null): ValueCell => makeCell(step, formatStep);

/** Return the values at one position. */
export function makePointsTable(
  title: string,
  lines: readonly Line[],
  points: readonly NearestPointRow[],
): ValueTable {
  const byLine = groupRowsByLine(points);
  return makeTable(title, POINT_COLUMNS, lines, ({ id }) => {
    const point = byLine.get(id);
    return point && makePointCells(point);
  });
}

function makePointCells(point: NearestPointRow) {
  return {
    smoothed: valueCell(point.smoothed ?? point.value),
    value: valueCell(point.value),
    step: stepCell(point.step),
    relative: makeCell(parseJsonNumber(point.relative_s), formatDuration),
    time: makeCell(parseJsonNumber(point.wall_time), formatTime),
  };
}

/** Return the last value of each line. */
export function makeLastValuesTable(
  title: string,
  lines: readonly Line[],
  rows: readonly LineRow[],
): ValueTable {
  const points = rows.flatMap(({ run, tag, first, last }): NearestPointRow[] => {
    if (!last) return [];
    const start = parseJsonNumber(first?.wall_time);
    const end = parseJsonNumber(last.wall_time);
    return [{ run, tag, relative_s: start === null || end === null ? NaN : end - start, ...last }];
  });
  return makePointsTable(title, lines, points);
}

/** Return the statistics of each line over a range. */
export function makeRangeTable(
  title: string,
  lines: readonly Line[],
  rows: readonly RangeStatsRow[],
): ValueTable {
  const byLine = groupRowsByLine(rows);
  return makeTable(title, RANGE_COLUMNS, lines, ({ id }) => {
    const row = byLine.get(id);
    return (
      row && {
        start: valueCell(row.start?.value),
        end: valueCell(row.stop?.value),
        change: valueCell(row.change),
        change_percent: makeCell(parseJsonNumber(row.change_ratio), formatRatio),
        min: valueCell(row.min?.value),
        max: valueCell(row.max?.value),
        mean: valueCell(row.mean),
        start_step: stepCell(row.start?.step ?? null),
        end_step: stepCell(row.stop?.step ?? null),
        points: makeCell(row.count, formatInteger),
      }
    );
  });
}

/** Return the last, lowest, highest and first value of each line and band. */
export function summaryTable(
  title: string,
  lines: readonly Line[],
  rows: readonly LineRow[],
  bands: readonly Band[],
): ValueTable {
  const byLine = new Map(rows.map((row) => [makeLineId(row.run, row.tag), row]));
  const linesTable = makeTable(title, SUMMARY_COLUMNS, lines, ({ id }) => {
    const row = byLine.get(id);
    return (
      row && {
        last: pointCell(row.last),
        min: pointCell(row.min),
        max: pointCell(row.max),
        first: pointCell(row.first),
        points: makeCell(row.points, formatInteger),
      }
    );
  });
  const bandsTable = makeTable(title, SUMMARY_COLUMNS, bands, ({ center, low, high, x }) => ({
    last: valueCell(center.at(-1)),
    min: valueCell(Math.min(...low.filter(Number.isFinite))),
    max: valueCell(Math.max(...high.filter(Number.isFinite))),
    first: valueCell(center[0]),
    points: makeCell(x.length, formatInteger),
  }));
  return { columns: linesTable.columns, rows: [...linesTable.rows, ...bandsTable.rows] };
}

function pointCell(point: PointRow | null): ValueCell {
  return point ? { ...valueCell(point.value), step: formatStep(point.step) } : EMPTY_CELL;
}

type Series = Pick<Line, 'id' | 'label' | 'color'>;

/** Return a table of the series that have cells. */
function makeTable<Item extends Series>(
  title: string,
  columns: Columns,
  items: readonly Item[],
  getCells: (item: Item) => ValueTableRow['cells'] | undefined,
): ValueTable {
  const rows = items.flatMap((item) => {
    const cells = getCells(item);
    const { id, label, color } = item;
    return cells ? [{ id, label, color, cells }] : [];
  });
  const order = new Map(items.map(({ id }, index) => [id, index]));
  return {
    columns: [
      // Sorts by the order of the runs.
      { key: RUN_COLUMN, title, width: 140, isText: true, value: ({ id }) => order.get(id) ?? NaN },
      ...Object.entries(columns).map(([key, column]) => ({
        key,
        ...column,
        value: ({ cells }: ValueTableRow) => cells[key]?.sortKey ?? NaN,
      })),
    ],
    rows,
  };
}
