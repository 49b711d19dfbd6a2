import type { CurveRow } from '../../../api/pr-curves';
import type { Line, Numbers, Spot } from '../../../charts/types';

/** What the two axes count: precision over recall, or true over false positives. */
export type Axes = 'PR' | 'ROC';

/** A curve as it is drawn. */
export interface Curve {
  /** That of its line: the run and the tag. */
  readonly id: string;
  readonly label: string;
  /** As far as it tells the curve from those beside it. */
  readonly short: string;
  readonly colour: string;
  readonly dash: readonly number[];
  readonly row: CurveRow;
}

/** What a classifier does at one threshold. */
export interface Reading {
  readonly id: string;
  readonly label: string;
  readonly colour: string;
  readonly threshold: number;
  readonly truePositives: number;
  readonly falsePositives: number;
  readonly trueNegatives: number;
  readonly falseNegatives: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  readonly falsePositiveRate: number;
}

export function idOf({ run, tag }: { readonly run: string; readonly tag: string }): string {
  return `${run}\n${tag}`;
}

export function runOf(id: string): string {
  return id.slice(0, id.indexOf('\n'));
}

/** The points of a curve, by rising threshold; null for one that cannot be drawn. */
export function pointsOf({ row }: Curve, axes: Axes): { x: Numbers; y: Numbers } | null {
  if (!row.columns) return null;
  const { recall, precision, false_positive_rate: rate } = row.columns;
  if (axes === 'PR') return { x: recall, y: precision };
  return rate && { x: rate, y: recall };
}

/** Lines in the plane, of which x runs in any direction. */
export function drawLines(curves: readonly Curve[], axes: Axes): Line[] {
  return curves.flatMap((curve) => {
    const points = pointsOf(curve, axes);
    if (!points) return [];
    const { id, label, colour, dash } = curve;
    const { x, y } = axes === 'ROC' ? withCorners(points) : points;
    return { id, label, colour, dash, axis: 0, scatter: true, x, y };
  });
}

/** Where everything is called positive, and where nothing is. */
function withCorners({ x, y }: { x: Numbers; y: Numbers }): { x: Numbers; y: Numbers } {
  return { x: Float64Array.of(1, ...x, 0), y: Float64Array.of(1, ...y, 0) };
}

/** Where a curve is at a threshold: the one it has that is nearest. */
export function readAt(curve: Curve, threshold: number): Reading | null {
  const { columns, counted } = curve.row;
  if (!columns) return null;
  const at = indexNear(columns.threshold, threshold);
  const cell = (column: Numbers | null): number => column?.[at] ?? NaN;
  const count = (column: Numbers): number => (counted ? cell(column) : NaN);
  const { id, short, colour } = curve;
  return {
    id,
    label: short,
    colour,
    threshold: cell(columns.threshold),
    truePositives: count(columns.true_positives),
    falsePositives: count(columns.false_positives),
    trueNegatives: count(columns.true_negatives),
    falseNegatives: count(columns.false_negatives),
    precision: cell(columns.precision),
    recall: cell(columns.recall),
    f1: cell(columns.f1),
    falsePositiveRate: cell(columns.false_positive_rate),
  };
}

export function spotOf(reading: Reading, axes: Axes): Spot | null {
  const { colour, precision, recall, falsePositiveRate } = reading;
  const [x, y] = axes === 'PR' ? [recall, precision] : [falsePositiveRate, recall];
  return Number.isFinite(x) && Number.isFinite(y) ? { x, y, colour } : null;
}

/** Of rising numbers the place of the one that is nearest. */
export function indexNear(column: Numbers, value: number): number {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((column[middle] ?? NaN) < value) low = middle + 1;
    else high = middle;
  }
  const isBefore = value - (column[low - 1] ?? -Infinity) <= (column[low] ?? Infinity) - value;
  return isBefore ? Math.max(0, low - 1) : low;
}

/** The next threshold that any curve has; null past the ends. */
export function nextThreshold(
  curves: readonly Curve[],
  threshold: number,
  direction: 1 | -1,
): number | null {
  let best: number | null = null;
  for (const { row } of curves) {
    for (const other of row.columns?.threshold ?? []) {
      const isBeyond = direction > 0 ? other > threshold : other < threshold;
      if (!isBeyond) continue;
      if (best === null || (direction > 0 ? other < best : other > best)) best = other;
    }
  }
  return best;
}
