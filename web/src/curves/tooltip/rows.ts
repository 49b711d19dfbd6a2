import { readNumber } from '../../api/numbers';
import type { AtRow } from '../../api/scalars';
import { valuesAt } from '../../charts/nearest';
import type { Band, Line } from '../../charts/types';
import { byLine } from '../data/rows';
import type { RowOrder } from '../state/settings';

export interface TipRow {
  readonly id: string;
  readonly label: string;
  readonly colour: string;
  /** null where lines are not smoothed. */
  readonly smoothed: number | null;
  readonly value: number | null;
  readonly x: number;
  readonly step: number | null;
  readonly relativeS: number | null;
  readonly wallTime: number | null;
  /** True where the line has begun later or ended before, so that its value is of another place. */
  readonly isFar: boolean;
  /** Ends of the band. */
  readonly low: number | null;
  readonly high: number | null;
}

export interface Place {
  readonly x: number;
  readonly y: number | null;
  readonly isSmooth: boolean;
  /** The points that are known to be there. */
  readonly exact: readonly AtRow[];
}

/** What each line and band has at a place: at once what is drawn there, then the point itself. */
export function rowsAt(lines: readonly Line[], bands: readonly Band[], place: Place): TipRow[] {
  const known = new Map(lines.map((line) => [line.id, line]));
  const points = byLine(place.exact);
  const edges = new Map(bands.map((band) => [band.id, band]));
  return valuesAt(lines, place.x).flatMap(({ id, x, y, raw }) => {
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
      colour: line.colour,
      smoothed: isSmooth ? (readNumber(exact?.smoothed) ?? y) : null,
      value: exact ? readNumber(exact.value) : isSmooth ? raw : y,
      x: readNumber(exact?.x) ?? x,
      step: exact?.step ?? null,
      relativeS: readNumber(exact?.relative_s),
      wallTime: readNumber(exact?.wall_time),
      isFar: isBeyond(line, place.x),
      low: band?.low[at] ?? null,
      high: band?.high[at] ?? null,
    };
  });
}

/** How far past its ends a line still speaks for a place, as a part of its length. */
const REACH = 0.02;

function isBeyond({ x, scatter }: Line, place: number): boolean {
  const [first = NaN, last = NaN] = [x[0], x.at(-1)];
  const reach = REACH * (last - first);
  return !scatter && (place < first - reach || place > last + reach);
}

/** The first rows in an order, and how many there are besides. */
export function pickRows(
  rows: readonly TipRow[],
  order: RowOrder,
  place: { readonly y: number | null; readonly nearest: string | null },
  most: number,
): { rows: TipRow[]; more: number } {
  const sorted = [
    ...sortRows(
      rows.filter(({ isFar }) => !isFar),
      order,
      place,
    ),
    ...rows.filter(({ isFar }) => isFar),
  ];
  return { rows: sorted.slice(0, most), more: Math.max(0, sorted.length - most) };
}

function sortRows(
  rows: readonly TipRow[],
  order: RowOrder,
  { y, nearest }: { readonly y: number | null; readonly nearest: string | null },
): TipRow[] {
  const shown = (row: TipRow): number => row.smoothed ?? row.value ?? NaN;
  if (order === 'ascending') return sortBy(rows, shown);
  if (order === 'descending') return sortBy(rows, (row) => -shown(row));
  if (order === 'name' || y === null) return [...rows];
  return sortBy(rows, (row) => (row.id === nearest ? -1 : Math.abs(shown(row) - y)));
}

/** What is not a number comes last. */
function sortBy(rows: readonly TipRow[], key: (row: TipRow) => number): TipRow[] {
  const rank = (row: TipRow): number => (Number.isNaN(key(row)) ? Infinity : key(row));
  const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);
  return [...rows].sort((a, b) => compare(rank(a), rank(b)));
}
