import type { Edges, Path, Pen } from '../pen/pen';
import type { Layout } from '../picture/layout';
import { MEDIAN, type Spread } from './types';

/** Pairs of the nine values that bound a band, from the widest to the narrowest. */
const NESTED = [
  [0, 8],
  [1, 7],
  [2, 6],
  [3, 5],
] as const;
/** The band that most of the numbers are in, which alone is drawn where there are many runs. */
const MAIN = [2, 6] as const;
/** Bands lie on each other, so that each adds to the strength of the wider ones. */
const STRENGTHS = [0.14, 0.19, 0.24, 0.32];
/** A single histogram is so many pixels wide to either side. */
const ALONE = 12;

export function drawBands(pen: Pen, spread: Spread, layout: Layout, isMain: boolean): void {
  const pairs = isMain ? [MAIN] : NESTED;
  pairs.forEach(([low, high], number) => {
    const opacity = isMain ? 0.18 : (STRENGTHS[number] ?? 0.2);
    pen.area(bandOf(spread, low, high, layout), { colour: spread.colour, opacity });
  });
  pen.stroke(medianOf(spread, layout), { colour: spread.colour, width: 1.8 });
}

/** The area between two of the nine values, in pixels. */
export function bandOf(spread: Spread, low: number, high: number, layout: Layout): Edges {
  const place = placesOf(spread, layout);
  const side = (number: number): Float32Array =>
    Float32Array.from(place, (_, at) => pixelOf(spread, at, number, layout));
  return { x: place, low: side(low), high: side(high), length: place.length };
}

function medianOf(spread: Spread, layout: Layout): Path {
  const place = placesOf(spread, layout);
  const points = new Float32Array(2 * place.length);
  place.forEach((x, at) => {
    const y = pixelOf(spread, at, MEDIAN, layout);
    points.set(Number.isNaN(y) ? [NaN, NaN] : [x, y], 2 * at);
  });
  return { points, length: points.length };
}

function placesOf({ x }: Spread, { x: { scale } }: Layout): Float32Array {
  const only = scale.at(x[0] ?? 0);
  if (x.length === 1) return Float32Array.of(only - ALONE, only + ALONE);
  return Float32Array.from(x, (value) => scale.at(value));
}

function pixelOf({ x, nine }: Spread, at: number, number: number, { y }: Layout): number {
  return y.scale.at(nine[Math.min(at, x.length - 1) * 9 + number] ?? NaN);
}
