import { parseJsonNumber } from '../api/decode';
import type { NearestPointRow } from '../api/schemas';
import { getValuesAt } from '../charts/line/line-hit-test';
import type { Band, Line } from '../charts/types';
import { formatDateTime, formatDuration, formatStep, formatValue } from '../lib/format';
import type { XAxis } from '../plugin/context';
import { rowsByLine } from './chart-lines';
import { axisName, type RowOrder } from './scalar-settings';

export interface ScalarTooltipRow {
  readonly id: string;
  readonly label: string;
  readonly color: string;
  /** null where lines are not smoothed. */
  readonly smoothed: number | null;
  readonly value: number | null;
  readonly x: number;
  readonly step: number | null;
  readonly relativeS: number | null;
  readonly wallTime: number | null;
  /** True where the line has begun later or ended before, so that its value is of another place. */
  readonly isOutOfRange: boolean;
  /** Ends of the band. */
  readonly low: number | null;
  readonly high: number | null;
}

export interface TooltipPosition {
  readonly x: number;
  readonly y: number | null;
  readonly isSmooth: boolean;
  /** The points that are known to be there. */
  readonly exact: readonly NearestPointRow[];
}

/** What each line and band has at a place: at once what is drawn there, then the point itself. */
export function tooltipRows(
  lines: readonly Line[],
  bands: readonly Band[],
  place: TooltipPosition,
): ScalarTooltipRow[] {
  const known = new Map(lines.map((line) => [line.id, line]));
  const points = rowsByLine(place.exact);
  const edges = new Map(bands.map((band) => [band.id, band]));
  return getValuesAt(lines, place.x).flatMap(({ id, x, y, raw }) => {
    const line = known.get(id);
    if (!line) return [];
    const exact = points.get(id);
    const band = edges.get(id);
    // The line within a band is drawn as it was logged.
    const isSmooth = place.isSmooth && !band;
    const at = band ? band.x.indexOf(x) : -1;
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
      isOutOfRange: isOutOfRange(line, place.x),
      low: band?.low[at] ?? null,
      high: band?.high[at] ?? null,
    };
  });
}

/** How far past its ends a line still speaks for a place, as a part of its length. */
const END_TOLERANCE = 0.02;

function isOutOfRange({ x, scatter }: Line, place: number): boolean {
  const [first = NaN, last = NaN] = [x[0], x.at(-1)];
  const reach = END_TOLERANCE * (last - first);
  return !scatter && (place < first - reach || place > last + reach);
}

/** The first rows in an order, and how many there are besides. */
export function limitRows(
  rows: readonly ScalarTooltipRow[],
  order: RowOrder,
  place: { readonly y: number | null; readonly nearest: string | null },
  most: number,
): { rows: ScalarTooltipRow[]; more: number } {
  const sorted = [
    ...sortRows(
      rows.filter((row) => !row.isOutOfRange),
      order,
      place,
    ),
    ...rows.filter((row) => row.isOutOfRange),
  ];
  return { rows: sorted.slice(0, most), more: Math.max(0, sorted.length - most) };
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

/** What is not a number comes last. */
function sortBy(
  rows: readonly ScalarTooltipRow[],
  key: (row: ScalarTooltipRow) => number,
): ScalarTooltipRow[] {
  const rank = (row: ScalarTooltipRow): number => (Number.isNaN(key(row)) ? Infinity : key(row));
  const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);
  return [...rows].sort((a, b) => compare(rank(a), rank(b)));
}

export type TooltipColumn = 'smoothed' | 'value' | 'low' | 'high' | 'step' | 'relative' | 'time';

export const COLUMN_LABELS: Readonly<Record<TooltipColumn, string>> = {
  smoothed: 'smooth',
  value: 'value',
  low: 'low',
  high: 'high',
  step: 'step',
  relative: 'relative',
  time: 'time',
};

/** Columns that can be added. */
export const OPTIONAL_COLUMNS = ['step', 'relative', 'time'] as const;

/** Which columns say something here. Steps are told where runs have no point at the same one. */
export function tooltipColumns(
  rows: readonly ScalarTooltipRow[],
  chosen: readonly string[],
): TooltipColumn[] {
  const steps = new Set(rows.flatMap(({ step }) => step ?? []));
  const wanted: Readonly<Record<TooltipColumn, boolean>> = {
    smoothed: rows.some(({ smoothed }) => smoothed !== null),
    value: true,
    low: rows.some(({ low }) => low !== null),
    high: rows.some(({ high }) => high !== null),
    step: chosen.includes('step') || steps.size > 1,
    relative: chosen.includes('relative'),
    time: chosen.includes('time'),
  };
  return (Object.keys(wanted) as TooltipColumn[]).filter((column) => wanted[column]);
}

export function tooltipCells(row: ScalarTooltipRow, columns: readonly TooltipColumn[]): string[] {
  return columns.map((column) => CELLS[column](row));
}

const number = (value: number | null): string => (value === null ? '' : formatValue(value));

const CELLS: Readonly<Record<TooltipColumn, (row: ScalarTooltipRow) => string>> = {
  smoothed: ({ smoothed }) => number(smoothed),
  value: ({ value }) => number(value),
  low: ({ low }) => number(low),
  high: ({ high }) => number(high),
  step: ({ step }) => (step === null ? '' : formatStep(step)),
  relative: ({ relativeS }) => (relativeS === null ? '' : formatDuration(relativeS)),
  time: ({ wallTime }) => (wallTime === null ? '' : formatDateTime(new Date(wallTime * 1000))),
};

/** Where the cursor is: on the point itself where all lines have it in the same place. */
export function tooltipHeading(axis: XAxis, x: number, rows: readonly ScalarTooltipRow[]): string {
  const [first] = rows;
  const same = first !== undefined && rows.every((row) => row.x === first.x) ? first : null;
  const at = same?.x ?? x;
  const place = `${AXIS_WORDS[axis] ?? axisName(axis)} ${formatX(axis, at)}`.trim();
  const relative = axis === 'relative' ? null : (first?.relativeS ?? null);
  return relative === null ? place : `${place} · ${formatDuration(relative)}`;
}

const AXIS_WORDS: Readonly<Record<string, string>> = {
  step: 'step',
  relative_step: 'relative step',
  index: 'point',
  relative: '',
  wall: '',
};

export function formatX(axis: XAxis, x: number): string {
  if (axis === 'wall') return formatDateTime(new Date(x * 1000));
  if (axis === 'relative') return formatDuration(x);
  return axis.startsWith('metric:') ? formatValue(x) : formatStep(Math.round(x));
}

/** Names without the folders that all of them begin with: a tooltip has no room to say it again. */
export function withoutSharedFolder(labels: readonly string[]): ReadonlyMap<string, string> {
  const shared = sharedFolder(labels);
  return new Map(labels.map((label) => [label, label.slice(shared)]));
}

function sharedFolder(labels: readonly string[]): number {
  const [first = '', ...others] = labels;
  if (others.length === 0) return 0;
  let end = first.lastIndexOf('/') + 1;
  for (const label of others) {
    while (end > 0 && !label.startsWith(first.slice(0, end))) {
      end = first.lastIndexOf('/', end - 2) + 1;
    }
  }
  return end;
}
