import type { WireNumber } from '../../types';
import type { AtRow, OddPoint, WirePoint } from '../../scalars';
import type { Curve } from './curve';

const MOST_ODD = 50;

export function pointOf(curve: Curve, row: number | null): WirePoint | null {
  if (row === null || row < 0 || row >= curve.x.length) return null;
  return {
    step: curve.step[row] ?? NaN,
    wall_time: spell(curve.wall[row]),
    x: curve.x[row] ?? NaN,
    value: spell(curve.value[row]),
    smoothed: spell(curve.smooth[row]),
  };
}

/** The rows of the lowest and of the highest finite value. */
export function findExtremes({ value }: Curve): { low: number | null; high: number | null } {
  let [low, high]: [number | null, number | null] = [null, null];
  value.forEach((one, row) => {
    if (!Number.isFinite(one)) return;
    if (low === null || one < (value[low] ?? NaN)) low = row;
    if (high === null || one > (value[high] ?? NaN)) high = row;
  });
  return { low, high };
}

/** The first of the values that are not finite. */
export function findOdd(curve: Curve): OddPoint[] {
  const odd: OddPoint[] = [];
  curve.value.forEach((value, row) => {
    if (Number.isFinite(value) || odd.length === MOST_ODD) return;
    const kind = Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
    odd.push({ x: curve.x[row] ?? NaN, step: curve.step[row] ?? NaN, kind });
  });
  return odd;
}

/** The point that is nearest to a place on the axis; of two, the earlier one. */
export function findNearest(run: string, tag: string, curve: Curve, at: number): AtRow | null {
  let nearest = -1;
  let distance = Infinity;
  curve.x.forEach((x, row) => {
    if (Math.abs(x - at) < distance) {
      nearest = row;
      distance = Math.abs(x - at);
    }
  });
  const point = pointOf(curve, nearest);
  const wall = curve.wall[nearest] ?? NaN;
  return point && { run, tag, ...point, relative_s: spell(wall - curve.since) };
}

/** A number as it would have come from a server. */
export function spell(value: number | undefined): WireNumber {
  if (value !== undefined && Number.isFinite(value)) return value;
  return value === Infinity ? 'Infinity' : value === -Infinity ? '-Infinity' : 'NaN';
}
