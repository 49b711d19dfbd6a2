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
import type { AxesSpec } from './plot-layout';
import { niceRange } from './ticks';

/** Where in rising numbers a span begins and ends, as for `subarray`. */
export function findIndexRange(
  x: NumberArray,
  within: NumberRange | null,
  scatter = false,
): [number, number] {
  if (!within || scatter) return [0, x.length];
  return [bisectLeft(x, within[0]), bisectLeft(x, within[1] + Math.abs(within[1]) * 1e-12)];
}

/** How many of some rising numbers are smaller. */
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

/** The smallest and the largest of the numbers that a kind of scale can show. */
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

  /** Of rising numbers; a log axis begins at the first that it can show. */
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

/** The value that would stand at `rank` if the values were sorted; their order is changed. */
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

/** What an axis has to show. */
export interface ChartContent {
  readonly lines: readonly Line[];
  readonly bands: readonly Band[];
}

interface YDomainOptions {
  readonly axis: 0 | 1;
  readonly kind: ScaleType;
  readonly limits: AxisLimits;
  readonly ignoreOutliers: boolean;
  /** About how many ticks there are to be between round ends. */
  readonly ticks: number;
  /** Only what lies above this part of the horizontal axis counts. */
  readonly within: NumberRange | null;
}

/** The part at either end that is left out with outliers, as TensorBoard does. */
const OUTLIER_QUANTILE = 0.05;
/** How many times longer than without outliers an axis may be with them. */
const OUTLIER_FACTOR = 2;
const MIN_VALUES_FOR_OUTLIERS = 20;
/** Room between a curve and the edge of a log axis, as a part of its height. */
const LOG_PADDING = 0.02;

/** The ends of the horizontal axis: those of the data, unless a limit holds one. */
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

/** The ends of a vertical axis: round numbers around the data, unless a limit holds one. */
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
 * Between the 5th and the 95th of 100 values of the lines themselves. Where the others are not far
 * away, or values so few that one of them is more than a stray, all are seen.
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

/** A single place on the horizontal axis stands in the middle; zero means nothing to it. */
function widenX(span: NumberRange | null, kind: ScaleType): NumberRange {
  if (!span || kind === 'log' || span[0] < span[1]) return widenRange(span, kind);
  return [span[0] - 1, span[1] + 1];
}

/** A single value stands in the middle, with zero at one end. */
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
  const room = (high / low) ** LOG_PADDING;
  return [low / room, high * room];
}

/** Limits hold an end wherever the data are; one that would leave nothing is not heeded. */
function applyLimits([low, high]: NumberRange, limits: AxisLimits, kind: ScaleType): NumberRange {
  const isValid = (end: number | null): end is number => end !== null && isDrawable(end, kind);
  const held: NumberRange = [
    isValid(limits.low) ? limits.low : low,
    isValid(limits.high) ? limits.high : high,
  ];
  if (held[0] < held[1]) return held;
  if (isValid(limits.low) && isValid(limits.high)) return [low, high];
  // Data wholly beyond the one typed end: an axis that starts there and shows none of them.
  if (isValid(limits.low)) return kind === 'log' ? [held[0], held[0] * 10] : [held[0], held[0] + 1];
  return kind === 'log' ? [held[1] / 10, held[1]] : [held[1] - 1, held[1]];
}

/** How a chart is to be seen when nobody has zoomed. */
export interface AxisSettings {
  readonly xFormat: AxisFormat;
  readonly xScale: ScaleType;
  readonly yScale: ScaleType;
  readonly y2Scale: ScaleType;
  readonly xLimits: AxisLimits;
  readonly yLimits: AxisLimits;
  readonly y2Limits: AxisLimits;
  readonly ignoreOutliers: boolean;
  /** How many ticks a vertical axis has room for. */
  readonly yTickCount: number;
}

/** What the axes span: what somebody zoomed to, else limits and data. */
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

/** The height that what lies within a part of the horizontal axis needs. */
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

/** A zoom from before the scale became a logarithmic one may reach where that has no numbers. */
function usableRange(span: NumberRange | undefined, kind: ScaleType): NumberRange | null {
  if (!span || !(span[0] < span[1])) return null;
  return kind === 'log' && span[0] <= 0 ? null : span;
}
