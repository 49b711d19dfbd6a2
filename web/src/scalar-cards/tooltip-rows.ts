import { parseJsonNumber } from '../api/columns';
import type { NearestPointRow } from '../api/schemas';
import * as common from '../catalog/common';
import * as m from '../catalog/scalars';
import { getValuesAt } from '../charts/line/line-overlay';
import type { Band, Line } from '../charts/types';
import { formatDateTime, formatDuration, formatStep, formatValue } from '../lib/format';
import { findCommonFolder } from '../lib/grouping';
import type { XAxis } from '../plugin/context';
import { groupRowsByLine } from './chart-lines';
import { getAxisLabel, type RowOrder } from './scalar-settings';

export interface ScalarTooltipRow {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  /** null without smoothing. */
  readonly smoothed: number | null;
  readonly value: number | null;
  readonly x: number;
  readonly step: number | null;
  readonly relativeS: number | null;
  readonly wallTime: number | null;
  /** The line starts after the cursor or ends before it, so its value is from another position. */
  readonly isOutOfRange: boolean;
  /** Edges of the band. */
  readonly low: number | null;
  readonly high: number | null;
  /** How many runs the value of a band is from. */
  readonly count: number | null;
}

export interface TooltipPosition {
  readonly x: number;
  readonly y: number | null;
  readonly isSmooth: boolean;
  /** The logged points, once they are loaded. */
  readonly exact: readonly NearestPointRow[];
}

/** Return the value of each line and band at the cursor: as drawn, or as logged once that is known. */
export function tooltipRows(
  lines: readonly Line[],
  bands: readonly Band[],
  position: TooltipPosition,
): ScalarTooltipRow[] {
  const linesById = new Map(lines.map((line) => [line.id, line]));
  const bandsById = new Map(bands.map((band) => [band.id, band]));
  const points = groupRowsByLine(position.exact);
  return getValuesAt(lines, position.x).flatMap(({ id, x, y, raw }) => {
    const line = linesById.get(id);
    if (!line) return [];
    const exact = points.get(id);
    const band = bandsById.get(id);
    // The center of a band is not smoothed.
    const isSmooth = position.isSmooth && !band;
    const index = band ? band.x.indexOf(x) : -1;
    return {
      id,
      label: line.label,
      color: line.color,
      smoothed: isSmooth ? (parseJsonNumber(exact?.smoothed) ?? y) : null,
      value: exact ? parseJsonNumber(exact.value) : isSmooth ? raw : y,
      x: parseJsonNumber(exact?.x) ?? x,
      step: exact?.step ?? null,
      relativeS: parseJsonNumber(exact?.relative_s),
      wallTime: parseJsonNumber(exact?.wall_time),
      isOutOfRange: isOutOfRange(line, position.x),
      low: band?.low[index] ?? null,
      high: band?.high[index] ?? null,
      count: band?.count?.[index] ?? null,
    };
  });
}

/** How far a line may be from the cursor without being out of range, as a fraction of its length. */
const END_TOLERANCE = 0.02;

function isOutOfRange({ x, scatter }: Line, position: number): boolean {
  const [first = NaN, last = NaN] = [x[0], x.at(-1)];
  const tolerance = END_TOLERANCE * (last - first);
  return !scatter && (position < first - tolerance || position > last + tolerance);
}

/** Sort and limit rows; return also how many were left out. Lines that are out of range come last. */
export function limitRows(
  rows: readonly ScalarTooltipRow[],
  order: RowOrder,
  pointer: { readonly y: number | null; readonly nearest: string | null },
  limit: number,
): { rows: ScalarTooltipRow[]; more: number } {
  const sorted = [
    ...sortRows(
      rows.filter((row) => !row.isOutOfRange),
      order,
      pointer,
    ),
    ...rows.filter((row) => row.isOutOfRange),
  ];
  return { rows: sorted.slice(0, limit), more: Math.max(0, sorted.length - limit) };
}

function sortRows(
  rows: readonly ScalarTooltipRow[],
  order: RowOrder,
  { y, nearest }: { readonly y: number | null; readonly nearest: string | null },
): ScalarTooltipRow[] {
  const shown = (row: ScalarTooltipRow): number => row.smoothed ?? row.value ?? NaN;
  if (order === 'ascending') return sortBy(rows, shown);
  if (order === 'descending') return sortBy(rows, (row) => -shown(row));
  if (order === 'name' || y === null) return [...rows];
  return sortBy(rows, (row) => (row.id === nearest ? -1 : Math.abs(shown(row) - y)));
}

/** NaN comes last. */
function sortBy(
  rows: readonly ScalarTooltipRow[],
  key: (row: ScalarTooltipRow) => number,
): ScalarTooltipRow[] {
  const rank = (row: ScalarTooltipRow): number => (Number.isNaN(key(row)) ? Infinity : key(row));
  const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);
  return [...rows].sort((a, b) => compare(rank(a), rank(b)));
}

export type TooltipColumn =
  'smoothed' | 'value' | 'low' | 'high' | 'count' | 'step' | 'relative' | 'time';

export const COLUMN_LABELS: Readonly<Record<TooltipColumn, string>> = {
  smoothed: m.columnSmoothed,
  value: m.columnValue,
  low: m.columnLow,
  high: m.columnHigh,
  count: m.columnCount,
  step: common.step,
  relative: common.axisRelative,
  time: common.time,
};

/** Return the columns to show. Steps are shown if they differ between runs. */
export function listTooltipColumns(
  rows: readonly ScalarTooltipRow[],
  chosen: readonly string[],
): TooltipColumn[] {
  const steps = new Set(rows.flatMap(({ step }) => step ?? []));
  const wanted: Readonly<Record<TooltipColumn, boolean>> = {
    smoothed: rows.some(({ smoothed }) => smoothed !== null),
    value: true,
    low: rows.some(({ low }) => low !== null),
    high: rows.some(({ high }) => high !== null),
    count: rows.some(({ count }) => count !== null),
    step: chosen.includes('step') || steps.size > 1,
    relative: chosen.includes('relative'),
    time: chosen.includes('time'),
  };
  return (Object.keys(wanted) as TooltipColumn[]).filter((column) => wanted[column]);
}

export function makeTooltipCells(
  row: ScalarTooltipRow,
  columns: readonly TooltipColumn[],
): string[] {
  return columns.map((column) => CELLS[column](row));
}

const number = (value: number | null): string => (value === null ? '' : formatValue(value));

const CELLS: Readonly<Record<TooltipColumn, (row: ScalarTooltipRow) => string>> = {
  smoothed: ({ smoothed }) => number(smoothed),
  value: ({ value }) => number(value),
  low: ({ low }) => number(low),
  high: ({ high }) => number(high),
  count: ({ count }) => number(count),
  step: ({ step }) => (step === null ? '' : formatStep(step)),
  relative: ({ relativeS }) => (relativeS === null ? '' : formatDuration(relativeS)),
  time: ({ wallTime }) => (wallTime === null ? '' : formatDateTime(new Date(wallTime * 1000))),
};

/** Return the position of the cursor: that of the points if all lines have one at the same x. */
export function tooltipHeading(axis: XAxis, x: number, rows: readonly ScalarTooltipRow[]): string {
  const [first] = rows;
  const same = first !== undefined && rows.every((row) => row.x === first.x) ? first : null;
  const position = formatPosition(axis, same?.x ?? x);
  const relative = axis === 'relative' ? null : (first?.relativeS ?? null);
  return relative === null ? position : `${position} · ${formatDuration(relative)}`;
}

/** Return a position with the name of the axis, except for times, which need none. */
function formatPosition(axis: XAxis, position: number): string {
  const x = formatX(axis, position);
  switch (axis) {
    case 'step':
      return common.axisStepAt({ x });
    case 'relative_step':
      return common.axisRelativeStepAt({ x });
    case 'index':
      return common.axisSampleIndexAt({ x });
    case 'relative':
    case 'wall':
      return x;
    default:
      return common.axisPosition({ axis: getAxisLabel(axis), x });
  }
}

export function formatX(axis: XAxis, x: number): string {
  if (axis === 'wall') return formatDateTime(new Date(x * 1000));
  if (axis === 'relative') return formatDuration(x);
  return axis.startsWith('metric:') ? formatValue(x) : formatStep(Math.round(x));
}

/** Return labels without the folder that all of them start with, by label. */
export function withoutSharedFolder(labels: readonly string[]): ReadonlyMap<string, string> {
  const length = labels.length < 2 ? 0 : findCommonFolder(labels).length;
  return new Map(labels.map((label) => [label, label.slice(length)]));
}
