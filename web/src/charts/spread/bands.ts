import type { Edges, Path, Pen } from '../pen/pen';
import type { Layout } from '../picture/layout';
import { MAIN, MEDIAN, type Spread } from './types';

/** Pairs of the nine values that bound a band, from the widest to the narrowest. */
const NESTED = [
  [0, 8],
  [1, 7],
  [2, 6],
  [3, 5],
] as const;
/** Bands lie on each other, so that each adds to the strength of the wider ones. */
const STRENGTHS = [0.14, 0.19, 0.24, 0.32];
/** A single histogram is so many pixels wide to either side. */
const ALONE = 12;

/** All bands within each other, or the main one alone, and the median. */
export function drawBands(pen: Pen, spread: Spread, layout: Layout, isMain: boolean): void {
  const { colour } = spread;
  if (isMain) drawMain(pen, spread, layout);
  else
    NESTED.forEach(([low, high], number) => {
      const opacity = STRENGTHS[number] ?? 0.2;
      pen.area(bandOf(spread, low, high, layout), { colour, opacity });
    });
  pen.stroke(lineOf(spread, MEDIAN, layout), { colour, width: 1.8 });
}

/** With lines at its edges, as the bands of several runs lie on each other. */
function drawMain(pen: Pen, spread: Spread, layout: Layout): void {
  const { colour } = spread;
  pen.area(bandOf(spread, ...MAIN, layout), { colour, opacity: 0.12 });
  for (const number of MAIN)
    pen.stroke(lineOf(spread, number, layout), { colour, width: 1, opacity: 0.7 });
}

/** The area between two of the nine values, in pixels. */
export function bandOf(spread: Spread, low: number, high: number, layout: Layout): Edges {
  const place = placesOf(spread, layout);
  const side = (number: number): Float32Array =>
    Float32Array.from(place, (_, at) => pixelOf(spread, at, number, layout));
  return { x: place, low: side(low), high: side(high), length: place.length };
}

function lineOf(spread: Spread, number: number, layout: Layout): Path {
  const place = placesOf(spread, layout);
  const points = new Float32Array(2 * place.length);
  place.forEach((x, at) => {
    const y = pixelOf(spread, at, number, layout);
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
