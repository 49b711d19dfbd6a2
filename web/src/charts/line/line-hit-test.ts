/** Hit testing. Lines are searched with binary search, so that hundreds of them are fast. */

import { bisectLeft } from '../axes/domain';
import type { Point } from '../renderer/renderer';
import type { PlotLayout } from '../axes/plot-axes';
import { getYScale } from './line-renderer';
import type { Line, NumberArray } from '../types';

export interface LineValue {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  /** Value before smoothing; null if unknown. */
  readonly raw: number | null;
}

/** A line or a band. */
export type HasX = Pick<Line, 'x' | 'scatter'>;

/** Return the point of each line that is nearest to `x`. */
export function getValuesAt(lines: readonly Line[], x: number): LineValue[] {
  const values: LineValue[] = [];
  for (const line of lines) {
    const at = findNearestIndex(line, x);
    if (at < 0) continue;
    const raw = line.raw?.[at] ?? null;
    values.push({ id: line.id, x: line.x[at] ?? NaN, y: line.y[at] ?? NaN, raw });
  }
  return values;
}

/** Return the index of the point nearest to `x`; -1 for a line without points. */
export function findNearestIndex({ x: column, scatter }: Line, x: number): number {
  if (scatter) return findNearestUnsorted(column, x);
  const after = bisectLeft(column, x);
  if (after === 0) return column.length ? 0 : -1;
  if (after === column.length) return after - 1;
  return x - (column[after - 1] ?? NaN) <= (column[after] ?? NaN) - x ? after - 1 : after;
}

function findNearestUnsorted(column: NumberArray, x: number): number {
  let best = -1;
  let least = Infinity;
  for (let at = 0; at < column.length; at++) {
    const distance = Math.abs((column[at] ?? NaN) - x);
    if (distance < least) [best, least] = [at, distance];
  }
  return best;
}

/** Return the id of the line nearest to a point, if one is within reach. */
export function findNearestLine(
  lines: readonly Line[],
  layout: PlotLayout,
  at: Point,
  reach = 32,
): string | null {
  const x = layout.x.scale.toValue(at.x);
  let best: string | null = null;
  let least = reach * reach;
  for (const line of lines) {
    const near = line.scatter ? 0 : findNearestIndex(line, x);
    const distance = near < 0 ? Infinity : distanceTo(line, near, layout, at);
    if (distance < least) [best, least] = [line.id, distance];
  }
  return best;
}

/**
 * Return the squared distance to a line in pixels. With sorted x, only the segments next to the
 * nearest point are checked.
 */
function distanceTo(line: Line, near: number, layout: PlotLayout, at: Point): number {
  const ys = getYScale(layout, line.axis);
  const across = (index: number): number => layout.x.scale.toPixel(line.x[index] ?? NaN) - at.x;
  const up = (index: number): number => ys.toPixel(line.y[index] ?? NaN) - at.y;
  const [first, last] = line.scatter ? [0, line.x.length - 1] : [near - 1, near + 1];
  let least = Infinity;
  let [x, y] = [across(first), up(first)];
  for (let index = first; index <= last; index++) {
    const [x1, y1] = [across(index), up(index)];
    // A point between two gaps has no segment.
    for (const distance of [x1 * x1 + y1 * y1, distanceToSegment(x, y, x1, y1)])
      if (distance < least) least = distance;
    [x, y] = [x1, y1];
  }
  return least;
}

/** Return the squared distance of the origin to a segment; NaN if an end is a gap. */
function distanceToSegment(x0: number, y0: number, x1: number, y1: number): number {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const length = dx * dx + dy * dy;
  const part = length === 0 ? 0 : Math.max(0, Math.min(1, -(x0 * dx + y0 * dy) / length));
  return (x0 + part * dx) ** 2 + (y0 + part * dy) ** 2;
}

/** Return the next x of a point, at least `step` away; null after the last. */
export function findNextX(lines: readonly HasX[], x: number, step: number): number | null {
  let best: number | null = null;
  for (const { x: column, scatter } of lines) {
    const found = scatter ? undefined : findNeighbor(column, x + step, step > 0);
    if (found === undefined) continue;
    if (best === null || (step > 0 ? found < best : found > best)) best = found;
  }
  return best;
}

function findNeighbor(column: NumberArray, x: number, rising: boolean): number | undefined {
  const at = bisectLeft(column, x);
  if (rising || column[at] === x) return column[at];
  return column[at - 1];
}
