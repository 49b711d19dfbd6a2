import type { Band, Limits, Line, Numbers, ScaleKind, Span } from '../types';
import { Extremes, isShown, partWithin } from './extremes';
import { select } from './quantile';
import { niceSpan } from './ticks';

/** What an axis has to show. */
export interface Content {
  readonly lines: readonly Line[];
  readonly bands: readonly Band[];
}

interface VerticalFit {
  readonly axis: 0 | 1;
  readonly kind: ScaleKind;
  readonly limits: Limits;
  readonly ignoreOutliers: boolean;
  /** About how many ticks there are to be between round ends. */
  readonly ticks: number;
  /** Only what lies above this part of the horizontal axis counts. */
  readonly within: Span | null;
}

/** The part at either end that is left out with outliers, as TensorBoard does. */
const OUTLYING = 0.05;
/** How many times longer than without outliers an axis may be with them. */
const FAR = 2;
const FEW = 20;
/** Room between a curve and the edge of a log axis, as a part of its height. */
const LOG_ROOM = 0.02;

/** The ends of the horizontal axis: those of the data, unless a limit holds one. */
export function fitX({ lines, bands }: Content, kind: ScaleKind, limits: Limits): Span {
  const extent = new Extremes(kind);
  for (const { x, scatter, faded } of lines) {
    if (scatter) extent.addAll(x);
    else extent.addEnds(x);
    for (const piece of faded ?? []) extent.addAll(piece.x);
  }
  for (const { x } of bands) extent.addEnds(x);
  return hold(spread(extent.span, kind), limits, kind);
}

/** The ends of a vertical axis: round numbers around the data, unless a limit holds one. */
export function fitY(content: Content, fit: VerticalFit): Span {
  const chosen = {
    lines: content.lines.filter(({ axis }) => axis === fit.axis),
    bands: content.bands.filter(({ axis }) => axis === fit.axis),
  };
  const span = fit.ignoreOutliers ? spanOfMost(chosen, fit) : spanOfAll(chosen, fit);
  return hold(round(widen(span, fit.kind), fit), fit.limits, fit.kind);
}

function spanOfAll({ lines, bands }: Content, { kind, within }: VerticalFit): Span | null {
  const extent = new Extremes(kind);
  for (const line of lines) {
    const [from, to] = partWithin(line.x, within, line.scatter);
    for (const column of [line.y, line.low, line.high, line.raw])
      if (column) extent.addAll(column, from, to);
    for (const piece of line.faded ?? []) extent.addAll(piece.y);
  }
  for (const { x, low, high } of bands) {
    const [from, to] = partWithin(x, within, false);
    extent.addAll(low, from, to);
    extent.addAll(high, from, to);
  }
  return extent.span;
}

/**
 * Between the 5th and the 95th of 100 values of the lines themselves. Where the others are not far
 * away, or values so few that one of them is more than a stray, all are seen.
 */
function spanOfMost(content: Content, fit: VerticalFit): Span | null {
  const whole = spanOfAll(content, fit);
  const columns = [
    ...content.lines.map(({ x, y, scatter }) => y.subarray(...partWithin(x, fit.within, scatter))),
    ...content.bands.map(({ x, center }) => center.subarray(...partWithin(x, fit.within, false))),
  ];
  const values = gather(columns, fit.kind);
  if (!whole || values.length < FEW) return whole;
  const low = select(values, Math.ceil(OUTLYING * (values.length - 1)));
  const high = select(values, Math.floor((1 - OUTLYING) * (values.length - 1)));
  return lengthOf(whole, fit.kind) > FAR * lengthOf([low, high], fit.kind) ? [low, high] : whole;
}

function lengthOf([low, high]: Span, kind: ScaleKind): number {
  return kind === 'log' ? Math.log(high / low) : high - low;
}

function gather(columns: readonly Numbers[], kind: ScaleKind): Float64Array {
  const values = new Float64Array(columns.reduce((sum, { length }) => sum + length, 0));
  let count = 0;
  for (const column of columns)
    for (const value of column) if (isShown(value, kind)) values[count++] = value;
  return values.subarray(0, count);
}

/** A single place on the horizontal axis stands in the middle; zero means nothing to it. */
function spread(span: Span | null, kind: ScaleKind): Span {
  if (!span || kind === 'log' || span[0] < span[1]) return widen(span, kind);
  return [span[0] - 1, span[1] + 1];
}

/** A single value stands in the middle, with zero at one end. */
function widen(span: Span | null, kind: ScaleKind): Span {
  if (!span) return kind === 'log' ? [1, 10] : [0, 1];
  const [low, high] = span;
  if (low < high) return span;
  if (kind === 'log') return [low / 2, high * 2];
  if (low === 0) return [-1, 1];
  return low > 0 ? [0, 2 * low] : [2 * low, 0];
}

function round([low, high]: Span, { kind, ticks }: VerticalFit): Span {
  if (kind === 'linear') return niceSpan([low, high], ticks);
  const room = (high / low) ** LOG_ROOM;
  return [low / room, high * room];
}

/** Limits hold an end wherever the data are; one that would leave nothing is not heeded. */
function hold([low, high]: Span, limits: Limits, kind: ScaleKind): Span {
  const isValid = (end: number | null): end is number => end !== null && isShown(end, kind);
  const held: Span = [
    isValid(limits.low) ? limits.low : low,
    isValid(limits.high) ? limits.high : high,
  ];
  if (held[0] < held[1]) return held;
  if (isValid(limits.low) && isValid(limits.high)) return [low, high];
  // Data wholly beyond the one typed end: an axis that starts there and shows none of them.
  if (isValid(limits.low)) return kind === 'log' ? [held[0], held[0] * 10] : [held[0], held[0] + 1];
  return kind === 'log' ? [held[1] / 10, held[1]] : [held[1] - 1, held[1]];
}
