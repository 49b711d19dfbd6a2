import type { LineAnswer } from '../../scalars';
import { type Curve, findRows, take } from './curve';
import { findExtremes, findOdd, pointOf } from './points';
import { countBelow } from './search';
import type { Key } from './series';

/** How the lines of a chart are drawn. */
export interface Plan {
  readonly start: number;
  readonly stop: number;
  readonly columns: number;
  /** With more points than this in the range a line is reduced to the columns. */
  readonly mostWhole: number;
  /** Whether there are values before smoothing to be told beside those after it. */
  readonly smoothed: boolean;
  /** Nothing but the line itself, as in a chart of hundreds. */
  readonly plain: boolean;
}

type Drawn = Pick<LineAnswer, 'x' | 'y' | 'raw' | 'low' | 'high'>;

export function drawLine(key: Key, curve: Curve, plan: Plan): LineAnswer {
  const { low, high } = findExtremes(curve);
  const last = curve.x.length - 1;
  return {
    ...key,
    points: curve.series.points,
    overwritten: curve.series.overwritten,
    ...draw(curve, plan),
    first: pointOf(curve, 0),
    last: pointOf(curve, last),
    min: pointOf(curve, low),
    max: pointOf(curve, high),
    odd: findOdd(curve),
    odd_count: curve.series.odd,
    faded: [],
  };
}

/** The centres of the columns, on which lines stand that were reduced. */
export function makeGrid({ start, stop, columns }: Plan): Float64Array {
  const width = (stop - start) / columns;
  return Float64Array.from({ length: columns }, (_, at) => start + (at + 0.5) * width);
}

function draw(curve: Curve, plan: Plan): Drawn {
  const rows = findRows(curve, plan.start, plan.stop);
  if (rows.length <= plan.mostWhole || !curve.rises) {
    return drawWhole(take(curve, withNeighbours(rows, curve)), plan);
  }
  return drawReduced(take(curve, rows), plan);
}

/** One point more at each end, so that a line goes on beyond the edges of its chart. */
function withNeighbours(rows: readonly number[], curve: Curve): readonly number[] {
  if (!curve.rises) return rows;
  const first = rows[0] ?? countBelow(curve.x, Infinity);
  const last = rows[rows.length - 1] ?? first - 1;
  return [first - 1, ...rows, last + 1].filter((row) => row >= 0 && row < curve.x.length);
}

function drawWhole(curve: Curve, { smoothed, plain }: Plan): Drawn {
  const raw = smoothed && !plain ? curve.value : null;
  return { x: curve.x, y: curve.smooth, raw, low: null, high: null };
}

/** Of each column the last finite value, and the extremes before smoothing. */
function drawReduced(curve: Curve, plan: Plan): Drawn {
  const make = (): Float64Array => new Float64Array(plan.columns).fill(NaN);
  const [y, raw, low, high] = [make(), make(), make(), make()];
  const scale = plan.columns / (plan.stop - plan.start);
  curve.x.forEach((x, row) => {
    const value = curve.value[row] ?? NaN;
    if (!Number.isFinite(value)) return;
    const column = Math.min(plan.columns - 1, Math.floor((x - plan.start) * scale));
    y[column] = curve.smooth[row] ?? NaN;
    raw[column] = value;
    if (!(value >= (low[column] ?? NaN))) low[column] = value;
    if (!(value <= (high[column] ?? NaN))) high[column] = value;
  });
  if (plan.plain && plan.smoothed) return { x: null, y, raw: null, low: null, high: null };
  return { x: null, y, raw: plan.smoothed ? raw : null, low, high };
}
