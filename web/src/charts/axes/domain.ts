import type { Point, Rect } from '../renderer/renderer';
import type {
  AxisFormat,
  AxisLimits,
  Band,
  ChartViewport,
  Line,
  NumberArray,
  NumberRange,
  ScaleType,
} from '../types';
import type { AxesSpec, PlotLayout } from './plot-axes';
import { niceRange, type Scale } from './ticks';

/** Return the index range of sorted values within a range, as for `subarray`. */
export function findIndexRange(
  x: NumberArray,
  within: NumberRange | null,
  scatter = false,
): [number, number] {
  if (!within || scatter) return [0, x.length];
  return [bisectLeft(x, within[0]), bisectLeft(x, within[1] + Math.abs(within[1]) * 1e-12)];
}

/** Return how many sorted values are smaller. */
export function bisectLeft(x: NumberArray, value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? NaN) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Collects the range of the values that a scale can show. */
export class ExtentBuilder {
  #low = Infinity;
  #high = -Infinity;
  readonly #kind: ScaleType;

  constructor(kind: ScaleType) {
    this.#kind = kind;
  }

  get range(): NumberRange | null {
    return this.#low <= this.#high ? [this.#low, this.#high] : null;
  }

  addAll(values: NumberArray, from = 0, to = values.length): void {
    for (let at = from; at < to; at++) this.#add(values[at] ?? NaN);
  }

  /** Add sorted values; on a log axis, those that are positive. */
  addEnds(values: NumberArray): void {
    if (values.length === 0) return;
    const first = this.#kind === 'log' ? bisectLeft(values, Number.MIN_VALUE) : 0;
    this.#add(values[first] ?? NaN);
    this.#add(values[values.length - 1] ?? NaN);
  }

  #add(value: number): void {
    if (!isDrawable(value, this.#kind)) return;
    if (value < this.#low) this.#low = value;
    if (value > this.#high) this.#high = value;
  }
}

export function isDrawable(value: number, kind: ScaleType): boolean {
  return Number.isFinite(value) && (kind === 'linear' || value > 0);
}

/** Return the value at `rank` in sorted order. Reorders the values. */
export function quickselect(values: Float64Array, rank: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const pivot = values[(low + high) >> 1] ?? NaN;
    let left = low;
    let right = high;
    while (left <= right) {
      while ((values[left] ?? NaN) < pivot) left++;
      while ((values[right] ?? NaN) > pivot) right--;
      if (left <= right) swapValues(values, left++, right--);
    }
    if (rank <= right) high = right;
    else if (rank >= left) low = left;
    else break;
  }
  return values[rank] ?? NaN;
}

function swapValues(values: Float64Array, one: number, other: number): void {
  const kept = values[one] ?? NaN;
  values[one] = values[other] ?? NaN;
  values[other] = kept;
}

export interface ChartContent {
  readonly lines: readonly Line[];
  readonly bands: readonly Band[];
}

interface YDomainOptions {
  readonly axis: 0 | 1;
  readonly kind: ScaleType;
  readonly limits: AxisLimits;
  readonly ignoreOutliers: boolean;
  /** Approximate number of ticks, for rounding. */
  readonly ticks: number;
  /** Only values in this x range count. */
  readonly within: NumberRange | null;
}

/** Fraction at each end that is excluded with outliers, as in TensorBoard. */
const OUTLIER_QUANTILE = 0.05;
/** Outliers are excluded if they make the axis longer by this factor. */
const OUTLIER_FACTOR = 2;
const MIN_VALUES_FOR_OUTLIERS = 20;
/** Padding of a log axis as a fraction of its length. */
const LOG_PADDING = 0.02;

/** Return the x domain: the range of the data, or limits. */
export function fitXDomain(
  { lines, bands }: ChartContent,
  kind: ScaleType,
  limits: AxisLimits,
): NumberRange {
  const extent = new ExtentBuilder(kind);
  for (const { x, scatter, overwritten } of lines) {
    if (scatter) extent.addAll(x);
    else extent.addEnds(x);
    for (const piece of overwritten ?? []) extent.addAll(piece.x);
  }
  for (const { x } of bands) extent.addEnds(x);
  return applyLimits(widenX(extent.range, kind), limits, kind);
}

/** Return the domain of a y axis: round numbers around the data, or limits. */
export function fitYDomain(content: ChartContent, fit: YDomainOptions): NumberRange {
  const chosen = {
    lines: content.lines.filter(({ axis }) => axis === fit.axis),
    bands: content.bands.filter(({ axis }) => axis === fit.axis),
  };
  const span = fit.ignoreOutliers
    ? findRangeWithoutOutliers(chosen, fit)
    : findFullRange(chosen, fit);
  return applyLimits(roundRange(widenRange(span, fit.kind), fit), fit.limits, fit.kind);
}

function findFullRange(
  { lines, bands }: ChartContent,
  { kind, within }: YDomainOptions,
): NumberRange | null {
  const extent = new ExtentBuilder(kind);
  for (const line of lines) {
    const [from, to] = findIndexRange(line.x, within, line.scatter);
    for (const column of [line.y, line.low, line.high, line.raw])
      if (column) extent.addAll(column, from, to);
    for (const piece of line.overwritten ?? []) extent.addAll(piece.y);
  }
  for (const { x, low, high } of bands) {
    const [from, to] = findIndexRange(x, within, false);
    extent.addAll(low, from, to);
    extent.addAll(high, from, to);
  }
  return extent.range;
}

/**
 * Return the range from the 5th to the 95th percentile of the lines, or the full range if the other
 * values are not far away or there are too few values.
 */
function findRangeWithoutOutliers(content: ChartContent, fit: YDomainOptions): NumberRange | null {
  const whole = findFullRange(content, fit);
  const columns = [
    ...content.lines.map(({ x, y, scatter }) =>
      y.subarray(...findIndexRange(x, fit.within, scatter)),
    ),
    ...content.bands.map(({ x, center }) =>
      center.subarray(...findIndexRange(x, fit.within, false)),
    ),
  ];
  const values = collectValues(columns, fit.kind);
  if (!whole || values.length < MIN_VALUES_FOR_OUTLIERS) return whole;
  const low = quickselect(values, Math.ceil(OUTLIER_QUANTILE * (values.length - 1)));
  const high = quickselect(values, Math.floor((1 - OUTLIER_QUANTILE) * (values.length - 1)));
  return getRangeLength(whole, fit.kind) > OUTLIER_FACTOR * getRangeLength([low, high], fit.kind)
    ? [low, high]
    : whole;
}

function getRangeLength([low, high]: NumberRange, kind: ScaleType): number {
  return kind === 'log' ? Math.log(high / low) : high - low;
}

function collectValues(columns: readonly NumberArray[], kind: ScaleType): Float64Array {
  const values = new Float64Array(columns.reduce((sum, { length }) => sum + length, 0));
  let count = 0;
  for (const column of columns)
    for (const value of column) if (isDrawable(value, kind)) values[count++] = value;
  return values.subarray(0, count);
}

/** Center a single x value; zero has no meaning there. */
function widenX(span: NumberRange | null, kind: ScaleType): NumberRange {
  if (!span || kind === 'log' || span[0] < span[1]) return widenRange(span, kind);
  return [span[0] - 1, span[1] + 1];
}

/** Center a single value, with zero at one end. */
function widenRange(span: NumberRange | null, kind: ScaleType): NumberRange {
  if (!span) return kind === 'log' ? [1, 10] : [0, 1];
  const [low, high] = span;
  if (low < high) return span;
  if (kind === 'log') return [low / 2, high * 2];
  if (low === 0) return [-1, 1];
  return low > 0 ? [0, 2 * low] : [2 * low, 0];
}

function roundRange([low, high]: NumberRange, { kind, ticks }: YDomainOptions): NumberRange {
  if (kind === 'linear') return niceRange([low, high], ticks);
  const factor = (high / low) ** LOG_PADDING;
  return [low / factor, high * factor];
}

/** Apply limits, except those that would leave an empty range. */
function applyLimits([low, high]: NumberRange, limits: AxisLimits, kind: ScaleType): NumberRange {
  const isValid = (end: number | null): end is number => end !== null && isDrawable(end, kind);
  const held: NumberRange = [
    isValid(limits.low) ? limits.low : low,
    isValid(limits.high) ? limits.high : high,
  ];
  if (held[0] < held[1]) return held;
  if (isValid(limits.low) && isValid(limits.high)) return [low, high];
  // All data is beyond the one limit: the axis starts there and shows none of it.
  if (isValid(limits.low)) return kind === 'log' ? [held[0], held[0] * 10] : [held[0], held[0] + 1];
  return kind === 'log' ? [held[1] / 10, held[1]] : [held[1] - 1, held[1]];
}

/** Axis settings of a chart without zoom. */
export interface AxisSettings {
  readonly xFormat: AxisFormat;
  readonly xScale: ScaleType;
  readonly yScale: ScaleType;
  readonly y2Scale: ScaleType;
  readonly xLimits: AxisLimits;
  readonly yLimits: AxisLimits;
  readonly y2Limits: AxisLimits;
  readonly ignoreOutliers: boolean;
  readonly yTickCount: number;
}

/** Return the domains of the axes: the zoom, otherwise limits and data. */
export function resolveAxes(
  content: ChartContent,
  settings: AxisSettings,
  zoom: ChartViewport | null,
): AxesSpec {
  const { xScale, xFormat, xLimits, yScale, y2Scale } = settings;
  const x = usableRange(zoom?.x, xScale) ?? fitXDomain(content, xScale, xLimits);
  const y = usableRange(zoom?.y, yScale) ?? fitAxisY(content, settings, 0, zoom?.x ?? null);
  const hasRight = [...content.lines, ...content.bands].some(({ axis }) => axis === 1);
  const y2 = usableRange(zoom?.y2, y2Scale) ?? fitAxisY(content, settings, 1, zoom?.x ?? null);
  return {
    x: { kind: xScale, domain: x, format: xFormat },
    y: { kind: yScale, domain: y },
    y2: hasRight ? { kind: y2Scale, domain: y2 } : null,
  };
}

/** Return the y domain of the values within an x range. */
export function fitAxisY(
  content: ChartContent,
  settings: AxisSettings,
  axis: 0 | 1,
  within: NumberRange | null,
): NumberRange {
  const kind = axis === 0 ? settings.yScale : settings.y2Scale;
  const limits = axis === 0 ? settings.yLimits : settings.y2Limits;
  const { ignoreOutliers, yTickCount: ticks } = settings;
  return fitYDomain(content, { axis, kind, limits, within, ignoreOutliers, ticks });
}

/** Return a zoom range if it is valid: it may be from before a switch to a log scale. */
function usableRange(span: NumberRange | undefined, kind: ScaleType): NumberRange | null {
  if (!span || !(span[0] < span[1])) return null;
  return kind === 'log' && span[0] <= 0 ? null : span;
}

/** The axes that a drag or the wheel changes. */
export type ZoomAxes = 'x' | 'y' | 'both';

/** A drag that is flatter or narrower changes one axis. */
const SINGLE_AXIS_PX = 12;
/** Smallest range relative to its values that doubles can resolve. */
const MIN_RELATIVE_RANGE = 1e-12;

/** Return the axes that a drag changes. */
export function getDragAxes(layout: PlotLayout, from: Point, to: Point): ZoomAxes {
  const start = getAxesAt(layout, from);
  if (start !== 'both') return start;
  if (Math.abs(to.y - from.y) < SINGLE_AXIS_PX) return 'x';
  return Math.abs(to.x - from.x) < SINGLE_AXIS_PX ? 'y' : 'both';
}

/** Return the axes at a point: outside the plot area, the adjacent one. */
export function getAxesAt({ plotArea }: PlotLayout, { x, y }: Point): ZoomAxes {
  if (y > plotArea.top + plotArea.height) return 'x';
  return x < plotArea.left || x > plotArea.left + plotArea.width ? 'y' : 'both';
}

/** Return the viewport of a dragged rectangle. */
export function zoomToRect(layout: PlotLayout, from: Point, to: Point): ChartViewport | null {
  const across = getDragAxes(layout, from, to);
  return mapViewport(layout, across, (scale, isX) => {
    const [a, b] = isX ? [from.x, to.x] : [from.y, to.y];
    return toRange(scale, clampToScale(scale, a), clampToScale(scale, b));
  });
}

/** Return the viewport after panning by pixels. */
export function panBy(layout: PlotLayout, dx: number, dy: number): ChartViewport | null {
  return mapViewport(layout, 'both', (scale, isX) => {
    const by = isX ? dx : dy;
    return toRange(scale, scale.range[0] - by, scale.range[1] - by);
  });
}

/** Return the viewport after zooming by `factor` around a point. */
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

/** Return the rectangle of a drag within the plot area. */
export function getDragRect(layout: PlotLayout, from: Point, to: Point, upright: boolean): Rect {
  const { plotArea, x, y } = layout;
  const across = upright ? 'x' : getDragAxes(layout, from, to);
  const [left, right] = [from.x, to.x]
    .map((pixel) => clampToScale(x.scale, pixel))
    .sort(compareNumbers);
  const [top, bottom] = [from.y, to.y]
    .map((pixel) => clampToScale(y.scale, pixel))
    .sort(compareNumbers);
  const wide = across !== 'y' && left !== undefined && right !== undefined;
  const tall = across !== 'x' && top !== undefined && bottom !== undefined;
  return {
    ...(wide ? { left, width: right - left } : { left: plotArea.left, width: plotArea.width }),
    ...(tall ? { top, height: bottom - top } : { top: plotArea.top, height: plotArea.height }),
  };
}

function compareNumbers(one: number, other: number): number {
  return one - other;
}
