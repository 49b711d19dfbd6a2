import type { Scale } from '../axis/scale';
import type { Box, Point } from '../pen/pen';
import type { Layout } from '../picture/layout';
import type { Extent, Span } from '../types';

/** What a drag or a wheel moves: one axis where it was on that axis or along it, else both. */
export type Across = 'x' | 'y' | 'both';

/** A drag flatter, or narrower, than this is along one axis. */
const FLAT = 12;
/** Two ends nearer than this part of themselves are the same to a number with 53 bits. */
const FINEST = 1e-12;

/** Which axes a drag is about. */
export function axesOfDrag(layout: Layout, from: Point, to: Point): Across {
  const start = axesAt(layout, from);
  if (start !== 'both') return start;
  if (Math.abs(to.y - from.y) < FLAT) return 'x';
  return Math.abs(to.x - from.x) < FLAT ? 'y' : 'both';
}

/** Which axes a place is about: beside the frame only the one that is there. */
export function axesAt({ frame }: Layout, { x, y }: Point): Across {
  if (y > frame.top + frame.height) return 'x';
  return x < frame.left || x > frame.left + frame.width ? 'y' : 'both';
}

/** What a box dragged over a chart holds. */
export function extentOfBox(layout: Layout, from: Point, to: Point): Extent | null {
  const across = axesOfDrag(layout, from, to);
  return mapExtent(layout, across, (scale, isX) => {
    const [a, b] = isX ? [from.x, to.x] : [from.y, to.y];
    return between(scale, inRange(scale, a), inRange(scale, b));
  });
}

/** What is seen when the paper is moved by some pixels. */
export function extentMoved(layout: Layout, dx: number, dy: number): Extent | null {
  return mapExtent(layout, 'both', (scale, isX) => {
    const by = isX ? dx : dy;
    return between(scale, scale.range[0] - by, scale.range[1] - by);
  });
}

/** What is seen `factor` times larger, with the place under the pointer left where it is. */
export function extentZoomed(
  layout: Layout,
  at: Point,
  factor: number,
  across: Across,
): Extent | null {
  return mapExtent(layout, across, (scale, isX) => {
    const center = isX ? at.x : at.y;
    const end = (pixel: number): number => center + (pixel - center) / factor;
    return between(scale, end(scale.range[0]), end(scale.range[1]));
  });
}

function mapExtent(
  { x, y, y2 }: Layout,
  across: Across,
  map: (scale: Scale, isX: boolean) => Span,
): Extent | null {
  const vertical = (scale: Scale): Span => (across === 'x' ? scale.domain : map(scale, false));
  const extent: Extent = {
    x: across === 'y' ? x.scale.domain : map(x.scale, true),
    y: vertical(y.scale),
    ...(y2 ? { y2: vertical(y2.scale) } : {}),
  };
  return [extent.x, extent.y, extent.y2 ?? extent.y].every(isSeen) ? extent : null;
}

function isSeen([low, high]: Span): boolean {
  const size = Math.max(Math.abs(low), Math.abs(high));
  return Number.isFinite(size) && high - low > size * FINEST;
}

function between(scale: Scale, a: number, b: number): Span {
  const [one, other] = [scale.valueAt(a), scale.valueAt(b)];
  return one < other ? [one, other] : [other, one];
}

function inRange({ range: [a, b] }: Scale, pixel: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), pixel));
}

/** The part of the frame that a drag marks. */
export function boxOfDrag(layout: Layout, from: Point, to: Point, upright: boolean): Box {
  const { frame, x, y } = layout;
  const across = upright ? 'x' : axesOfDrag(layout, from, to);
  const [left, right] = [from.x, to.x].map((pixel) => inRange(x.scale, pixel)).sort(ascending);
  const [top, foot] = [from.y, to.y].map((pixel) => inRange(y.scale, pixel)).sort(ascending);
  const wide = across !== 'y' && left !== undefined && right !== undefined;
  const tall = across !== 'x' && top !== undefined && foot !== undefined;
  return {
    ...(wide ? { left, width: right - left } : { left: frame.left, width: frame.width }),
    ...(tall ? { top, height: foot - top } : { top: frame.top, height: frame.height }),
  };
}

function ascending(one: number, other: number): number {
  return one - other;
}
