import { countBelow } from '../axis/extremes';
import type { Scale } from '../axis/scale';
import type { Edges, Path } from '../pen/pen';
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

interface Reach {
  readonly x: Numbers;
  readonly low: Numbers;
  readonly high: Numbers;
}

/** One line that goes from low to high at one point and from high to low at the next. */
export function traceReach({ x, low, high }: Reach, xs: Scale, ys: Scale, part: Span): Path {
  const points = room(4 * (part[1] - part[0]));
  let length = 0;
  for (let at = part[0]; at < part[1]; at++) {
    const [first, second] = at % 2 ? [high, low] : [low, high];
    for (const value of [first[at] ?? NaN, second[at] ?? NaN]) {
      points[length++] = Number.isFinite(value) ? xs.at(x[at] ?? NaN) : NaN;
      points[length++] = ys.at(value);
    }
  }
  return { points, length };
}

/** The edges of the area between two curves, in pixels. */
export function traceArea({ x, low, high }: Reach, xs: Scale, ys: Scale, [from, to]: Span): Edges {
  const pixels = (column: Numbers, scale: Scale): Float32Array =>
    Float32Array.from(column.subarray(from, to), (value) =>
      Number.isFinite(value) ? scale.at(value) : NaN,
    );
  return { x: pixels(x, xs), low: pixels(low, ys), high: pixels(high, ys), length: to - from };
}
