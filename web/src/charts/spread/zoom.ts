import type { Point } from '../pen/pen';
import type { Layout } from '../picture/layout';
import {
  axesAt,
  axesOfDrag,
  type Across,
  extentMoved,
  extentOfBox,
  extentZoomed,
} from '../stage/zoom';
import type { Extent } from '../types';
import { isFlat, type SpreadMode, type SpreadZoom } from './types';

/** What a box dragged over a panel holds. */
export function zoomToBox(
  layout: Layout,
  mode: SpreadMode,
  now: SpreadZoom,
  from: Point,
  to: Point,
): SpreadZoom | null {
  return apply(extentOfBox(layout, from, to), mode, now, acrossOf(layout, mode, from, to));
}

/** Lines over each other have no axis of steps, and counts are never zoomed. */
export function acrossOf(layout: Layout, mode: SpreadMode, from: Point, to: Point): Across {
  return mode === 'overlay' ? 'x' : axesOfDrag(layout, from, to);
}

export function zoomAround(
  layout: Layout,
  mode: SpreadMode,
  now: SpreadZoom,
  at: Point,
  factor: number,
): SpreadZoom | null {
  const across = mode === 'overlay' ? 'x' : axesAt(layout, at);
  return apply(extentZoomed(layout, at, factor, across), mode, now, across);
}

export function zoomMoved(
  layout: Layout,
  mode: SpreadMode,
  now: SpreadZoom,
  dx: number,
  dy: number,
): SpreadZoom | null {
  return apply(extentMoved(layout, dx, dy), mode, now, mode === 'overlay' ? 'x' : 'both');
}

function apply(
  extent: Extent | null,
  mode: SpreadMode,
  now: SpreadZoom,
  across: Across,
): SpreadZoom | null {
  if (!extent) return null;
  const [x, y] = [across === 'y' ? null : extent.x, across === 'x' ? null : extent.y];
  return isFlat(mode)
    ? { values: x ?? now.values, steps: mode === 'overlay' ? now.steps : (y ?? now.steps) }
    : { steps: x ?? now.steps, values: y ?? now.values };
}
