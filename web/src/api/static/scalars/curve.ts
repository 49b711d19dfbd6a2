import type { Smoothing } from '../../scalars';
import { lastAtOrBefore, rises } from './search';
import type { Series } from './series';
import { smooth } from './smooth';

/** A series as it is looked at: columns in the order of `x`, or of steps where that is a metric. */
export interface Curve {
  readonly series: Series;
  readonly step: Float64Array;
  readonly wall: Float64Array;
  readonly x: Float64Array;
  readonly value: Float64Array;
  /** `value` itself where nothing is smoothed. */
  readonly smooth: Float64Array;
  /** Whether `x` never falls. */
  readonly rises: boolean;
  /** When the first point of the series was written. */
  readonly since: number;
}

/** Puts a series on an axis and smooths it; `metric` is the tag of its run that stands there. */
export function look(
  series: Series,
  axis: string,
  smoothing: Smoothing | null,
  metric: Series | null,
): Curve {
  const value = Float64Array.from(series.value);
  const x = place(series, axis, metric);
  const curve = {
    series,
    step: series.step,
    wall: series.wall_time,
    x,
    value,
    smooth: smoothing ? smooth(value, series.step, smoothing) : value,
    rises: rises(x),
    since: series.wall_time[0] ?? NaN,
  };
  return curve.rises && x.every(Number.isFinite) ? curve : arrange(curve, metric !== null);
}

/** Some rows of a curve, in the order given. */
export function take(curve: Curve, rows: readonly number[]): Curve {
  const pick = (column: Float64Array): Float64Array =>
    Float64Array.from(rows, (row) => column[row] ?? NaN);
  const value = pick(curve.value);
  const x = pick(curve.x);
  return {
    ...curve,
    step: pick(curve.step),
    wall: pick(curve.wall),
    x,
    value,
    smooth: curve.smooth === curve.value ? value : pick(curve.smooth),
    rises: rises(x),
  };
}

/** The rows that lie in a range, its ends included; null leaves an end open. */
export function findRows({ x }: Curve, start: number | null, stop: number | null): number[] {
  const [low, high] = [start ?? -Infinity, stop ?? Infinity];
  const rows: number[] = [];
  x.forEach((at, row) => {
    if (at >= low && at <= high) rows.push(row);
  });
  return rows;
}

function place(series: Series, axis: string, metric: Series | null): Float64Array {
  const { step, wall_time: wall, index } = series;
  const [firstStep, firstWall] = [step[0] ?? NaN, wall[0] ?? NaN];
  if (metric) return step.map((at) => metric.value[lastAtOrBefore(metric.step, at)] ?? NaN);
  switch (axis) {
    case 'relative_step':
      return step.map((at) => at - firstStep);
    case 'relative':
      return wall.map((at) => at - firstWall);
    case 'wall':
      return wall;
    case 'index':
      return index ? Float64Array.from(index) : step.map((_, row) => row);
    default:
      return step;
  }
}

/** Leaves out points that have no place on the axis; on an axis of time, follows it. */
function arrange(curve: Curve, scatter: boolean): Curve {
  const { x } = curve;
  const rows = findRows(curve, -Number.MAX_VALUE, Number.MAX_VALUE);
  if (!scatter) rows.sort((a, b) => (x[a] ?? 0) - (x[b] ?? 0));
  return take(curve, rows);
}
