import { countBelow } from '../axis/extremes';
import type { Scale } from '../axis/scale';
import type { Path } from '../pen/pen';
import type { Numbers, Span } from '../types';

/** One buffer for every path: a pen has used a path before the next one is traced. */
let buffer = new Float32Array(4096);

function room(numbers: number): Float32Array {
  if (buffer.length < numbers) buffer = new Float32Array(2 * numbers);
  return buffer;
}

/** The points of a curve that are seen, with the two that lie next to them outside. */
export function seenPart(x: Numbers, scale: Scale, isRising: boolean): Span {
  if (!isRising) return [0, x.length];
  const [low, high] = scale.domain;
  return [Math.max(0, countBelow(x, low) - 1), Math.min(x.length, countBelow(x, high) + 1)];
}

/** A curve in pixels, with a gap where a value is none. */
export function traceCurve(x: Numbers, y: Numbers, xs: Scale, ys: Scale, part: Span): Path {
  const points = room(2 * (part[1] - part[0]));
  let length = 0;
  for (let at = part[0]; at < part[1]; at++) {
    const value = y[at] ?? NaN;
    const across = Number.isFinite(value) ? xs.at(x[at] ?? NaN) : NaN;
    points[length++] = across;
    points[length++] = Number.isNaN(across) ? NaN : ys.at(value);
  }
  return { points, length };
}

/** The area between two curves, in one piece between gaps. */
export function traceArea(
  x: Numbers,
  low: Numbers,
  high: Numbers,
  xs: Scale,
  ys: Scale,
  part: Span,
): Path {
  const points = room(4 * (part[1] - part[0]) + 2);
  let length = 0;
  let begin = part[0];
  const isGap = (at: number): boolean =>
    !Number.isFinite(low[at] ?? NaN) || !Number.isFinite(high[at] ?? NaN);
  const put = (at: number, y: Numbers): void => {
    points[length++] = xs.at(x[at] ?? NaN);
    points[length++] = ys.at(y[at] ?? NaN);
  };
  for (let end = part[0]; end <= part[1]; end++) {
    if (end < part[1] && !isGap(end)) continue;
    if (length > 0 && begin < end) length = lift(points, length);
    for (let at = begin; at < end; at++) put(at, high);
    for (let at = end - 1; at >= begin; at--) put(at, low);
    begin = end + 1;
  }
  return { points, length };
}

function lift(points: Float32Array, length: number): number {
  points[length] = points[length + 1] = NaN;
  return length + 2;
}
