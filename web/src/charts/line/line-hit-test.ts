/** What lies under a pointer. Lines are searched by halves, so that hundreds of them cost nothing. */

import { bisectLeft } from '../axes/domain';
import type { Point } from '../renderer/renderer';
import type { PlotLayout } from '../axes/plot-layout';
import { getYScale } from './curve-renderer';
import type { Line, NumberArray } from '../types';

export interface LineValue {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  /** Before smoothing; null where that is not known. */
  readonly raw: number | null;
}

/** A line, or a band. */
export type HasX = Pick<Line, 'x' | 'scatter'>;

/** The point of each line that is nearest to `x`. */
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

/** Which point of a line is nearest to `x`; -1 for a line without points. */
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

/** The line nearest to a pixel, if one is within reach. */
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

/** Squared pixels from a place to a line: to the two pieces that meet in a point, which are the
 * nearest where x rises, else to all of them. */
function distanceTo(line: Line, near: number, layout: PlotLayout, at: Point): number {
  const ys = getYScale(layout, line.axis);
  const across = (index: number): number => layout.x.scale.toPixel(line.x[index] ?? NaN) - at.x;
  const up = (index: number): number => ys.toPixel(line.y[index] ?? NaN) - at.y;
  const [first, last] = line.scatter ? [0, line.x.length - 1] : [near - 1, near + 1];
  let least = Infinity;
  let [x, y] = [across(first), up(first)];
  for (let index = first; index <= last; index++) {
    const [x1, y1] = [across(index), up(index)];
    // A point with gaps at both sides belongs to no piece.
    for (const distance of [x1 * x1 + y1 * y1, distanceToSegment(x, y, x1, y1)])
      if (distance < least) least = distance;
    [x, y] = [x1, y1];
  }
  return least;
}

/** Squared distance of the origin to a piece of a line; NaN where an end is a gap. */
function distanceToSegment(x0: number, y0: number, x1: number, y1: number): number {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const length = dx * dx + dy * dy;
  const part = length === 0 ? 0 : Math.max(0, Math.min(1, -(x0 * dx + y0 * dy) / length));
  return (x0 + part * dx) ** 2 + (y0 + part * dy) ** 2;
}

/** The next x at which a line has a point, at least `step` further; null past the last. */
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
