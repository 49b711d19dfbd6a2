import type { Scale } from './scale';
import type { Rect, Point } from '../renderer/renderer';
import type { PlotLayout } from './plot-layout';
import type { ChartViewport, NumberRange } from '../types';

/** What a drag or a wheel moves: one axis where it was on that axis or along it, else both. */
export type ZoomAxes = 'x' | 'y' | 'both';

/** A drag flatter, or narrower, than this is along one axis. */
const SINGLE_AXIS_PX = 12;
/** Two ends nearer than this part of themselves are the same to a number with 53 bits. */
const MIN_RELATIVE_RANGE = 1e-12;

/** Which axes a drag is about. */
export function getDragAxes(layout: PlotLayout, from: Point, to: Point): ZoomAxes {
  const start = getAxesAt(layout, from);
  if (start !== 'both') return start;
  if (Math.abs(to.y - from.y) < SINGLE_AXIS_PX) return 'x';
  return Math.abs(to.x - from.x) < SINGLE_AXIS_PX ? 'y' : 'both';
}

/** Which axes a place is about: beside the frame only the one that is there. */
export function getAxesAt({ plotArea }: PlotLayout, { x, y }: Point): ZoomAxes {
  if (y > plotArea.top + plotArea.height) return 'x';
  return x < plotArea.left || x > plotArea.left + plotArea.width ? 'y' : 'both';
}

/** What a box dragged over a chart holds. */
export function zoomToRect(layout: PlotLayout, from: Point, to: Point): ChartViewport | null {
  const across = getDragAxes(layout, from, to);
  return mapViewport(layout, across, (scale, isX) => {
    const [a, b] = isX ? [from.x, to.x] : [from.y, to.y];
    return toRange(scale, clampToScale(scale, a), clampToScale(scale, b));
  });
}

/** What is seen when the paper is moved by some pixels. */
export function panBy(layout: PlotLayout, dx: number, dy: number): ChartViewport | null {
  return mapViewport(layout, 'both', (scale, isX) => {
    const by = isX ? dx : dy;
    return toRange(scale, scale.range[0] - by, scale.range[1] - by);
  });
}

/** What is seen `factor` times larger, with the place under the pointer left where it is. */
export function zoomAround(
  layout: PlotLayout,
  at: Point,
  factor: number,
  across: ZoomAxes,
): ChartViewport | null {
  return mapViewport(layout, across, (scale, isX) => {
    const center = isX ? at.x : at.y;
    const end = (pixel: number): number => center + (pixel - center) / factor;
    return toRange(scale, end(scale.range[0]), end(scale.range[1]));
  });
}

function mapViewport(
  { x, y, y2 }: PlotLayout,
  across: ZoomAxes,
  map: (scale: Scale, isX: boolean) => NumberRange,
): ChartViewport | null {
  const vertical = (scale: Scale): NumberRange =>
    across === 'x' ? scale.domain : map(scale, false);
  const extent: ChartViewport = {
    x: across === 'y' ? x.scale.domain : map(x.scale, true),
    y: vertical(y.scale),
    ...(y2 ? { y2: vertical(y2.scale) } : {}),
  };
  return [extent.x, extent.y, extent.y2 ?? extent.y].every(isResolvable) ? extent : null;
}

function isResolvable([low, high]: NumberRange): boolean {
  const size = Math.max(Math.abs(low), Math.abs(high));
  return Number.isFinite(size) && high - low > size * MIN_RELATIVE_RANGE;
}

function toRange(scale: Scale, a: number, b: number): NumberRange {
  const [one, other] = [scale.toValue(a), scale.toValue(b)];
  return one < other ? [one, other] : [other, one];
}

function clampToScale({ range: [a, b] }: Scale, pixel: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), pixel));
}

/** The part of the frame that a drag marks. */
export function getDragRect(layout: PlotLayout, from: Point, to: Point, upright: boolean): Rect {
  const { plotArea, x, y } = layout;
  const across = upright ? 'x' : getDragAxes(layout, from, to);
  const [left, right] = [from.x, to.x]
    .map((pixel) => clampToScale(x.scale, pixel))
    .sort(compareNumbers);
  const [top, foot] = [from.y, to.y]
    .map((pixel) => clampToScale(y.scale, pixel))
    .sort(compareNumbers);
  const wide = across !== 'y' && left !== undefined && right !== undefined;
  const tall = across !== 'x' && top !== undefined && foot !== undefined;
  return {
    ...(wide ? { left, width: right - left } : { left: plotArea.left, width: plotArea.width }),
    ...(tall ? { top, height: foot - top } : { top: plotArea.top, height: plotArea.height }),
  };
}

function compareNumbers(one: number, other: number): number {
  return one - other;
}
