/** Axes and drawing of curves: intermediate values and distributions. */
import type { ChartTheme, Path, Rect, Renderer } from '../../../charts/renderer/renderer';
import { type ColumnAxis, makeAxis } from '../model/column-axes';
import type { TrialColumn } from '../model/trials';
import { toX, toY } from './trial-scatter-plot';

export interface Curve {
  /** Ascending. */
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
  readonly color: string;
  readonly dashed?: boolean;
  /** Whether the value holds until the next point. */
  readonly stepped?: boolean;
  /** Whether a cross marks the end, as of a pruned trial. */
  readonly crossed?: boolean;
}

export interface CurveAxes {
  readonly x: ColumnAxis;
  readonly y: ColumnAxis;
}

/** Return axes over all finite points. */
export function makeCurveAxes(
  curves: readonly Curve[],
  xTitle: string,
  yTitle: string,
  yRange: readonly [number, number] | null,
): CurveAxes {
  return {
    x: makeAxis(makeRangeColumn(xTitle, findRange(curves.map(({ x }) => x))), 'linear'),
    y: makeAxis(makeRangeColumn(yTitle, yRange ?? findRange(curves.map(({ y }) => y))), 'linear'),
  };
}

function findRange(columns: readonly ArrayLike<number>[]): readonly [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const values of columns)
    for (let index = 0; index < values.length; index++) {
      const value = values[index] ?? NaN;
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  return [low, high];
}

/** Return a column whose values are the ends of an axis. */
function makeRangeColumn(title: string, range: readonly [number, number]): TrialColumn {
  return {
    key: title,
    kind: 'metric',
    title,
    description: '',
    format: 'value',
    values: Float64Array.from(range),
    categories: null,
    missingMask: null,
    varies: range[0] !== range[1],
  };
}

const CROSS_RADIUS_PX = 3.5;
/** Lines are more transparent the more there are. */
const OPAQUE_CURVES = 40;
const HOVER_DISTANCE_PX = 12;

export function drawCurves(
  renderer: Renderer,
  area: Rect,
  axes: CurveAxes,
  curves: readonly Curve[],
  theme: ChartTheme,
): void {
  const opacity = Math.min(1, Math.max(0.25, Math.sqrt(OPAQUE_CURVES / curves.length)));
  const width = curves.length > OPAQUE_CURVES ? 1 : 1.6;
  for (const curve of curves) {
    const style = { color: curve.color, width, opacity };
    renderer.stroke(
      makeCurvePath(area, axes, curve),
      curve.dashed ? { ...style, dash: [4, 3] } : style,
    );
  }
  for (const curve of curves)
    if (curve.crossed) drawCross(renderer, area, axes, curve, theme.error);
}

export function drawHighlightedCurve(
  renderer: Renderer,
  area: Rect,
  axes: CurveAxes,
  curve: Curve,
  theme: ChartTheme,
): void {
  const path = makeCurvePath(area, axes, curve);
  renderer.stroke(path, { color: theme.background, width: 6, opacity: 0.8 });
  renderer.stroke(path, { color: theme.accent, width: 2.5 });
  if (curve.crossed) drawCross(renderer, area, axes, curve, theme.error);
}

function makeCurvePath(area: Rect, { x, y }: CurveAxes, curve: Curve): Path {
  const count = curve.x.length;
  const points = new Float32Array(4 * count);
  let length = 0;
  for (let index = 0; index < count; index++) {
    const left = toX(area, x.toPosition(curve.x[index] ?? NaN));
    const top = toY(area, y.toPosition(curve.y[index] ?? NaN));
    if (curve.stepped && index > 0) {
      points[length++] = left;
      points[length] = points[length - 2] ?? NaN;
      length += 1;
    }
    points[length++] = left;
    points[length++] = top;
  }
  return { points, length };
}

function drawCross(
  renderer: Renderer,
  area: Rect,
  { x, y }: CurveAxes,
  curve: Curve,
  color: string,
): void {
  const last = curve.x.length - 1;
  const left = toX(area, x.toPosition(curve.x[last] ?? NaN));
  const top = toY(area, y.toPosition(curve.y[last] ?? NaN));
  if (Number.isNaN(left + top)) return;
  const points = Float32Array.of(
    ...[left - CROSS_RADIUS_PX, top - CROSS_RADIUS_PX, left + CROSS_RADIUS_PX],
    ...[top + CROSS_RADIUS_PX, NaN, NaN, left - CROSS_RADIUS_PX, top + CROSS_RADIUS_PX],
    ...[left + CROSS_RADIUS_PX, top - CROSS_RADIUS_PX],
  );
  renderer.stroke({ points, length: points.length }, { color, width: 1.6 });
}

/** Return the index of the curve nearest to a pixel in vertical direction, if one is near enough. */
export function findNearestCurve(
  curves: readonly Curve[],
  area: Rect,
  { x, y }: CurveAxes,
  pointerX: number,
  pointerY: number,
): number | null {
  const value = x.toValue((pointerX - area.left) / area.width);
  let nearest: number | null = null;
  let minDistance = HOVER_DISTANCE_PX;
  curves.forEach((curve, index) => {
    const isPoint = curve.x.length === 1;
    const top = toY(area, y.toPosition(isPoint ? (curve.y[0] ?? NaN) : readCurve(curve, value)));
    const left = isPoint ? toX(area, x.toPosition(curve.x[0] ?? NaN)) : pointerX;
    const distance = Math.hypot(left - pointerX, top - pointerY);
    if (distance < minDistance) [nearest, minDistance] = [index, distance];
  });
  return nearest;
}

/** Return the y of a curve at an x between its ends, else NaN. */
export function readCurve(curve: Curve, value: number): number {
  const { x, y, stepped } = curve;
  const last = x.length - 1;
  if (last < 0 || value < (x[0] ?? NaN) || value > (x[last] ?? NaN)) return NaN;
  let [low, high] = [0, last];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? NaN) <= value) low = middle;
    else high = middle;
  }
  const [from, to] = [x[low] ?? NaN, x[high] ?? NaN];
  if (value >= to) return y[high] ?? NaN;
  if (stepped) return y[low] ?? NaN;
  const share = to > from ? (value - from) / (to - from) : 0;
  return (y[low] ?? NaN) * (1 - share) + (y[high] ?? NaN) * share;
}
