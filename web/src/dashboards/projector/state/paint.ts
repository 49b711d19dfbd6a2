import { RUN_COLOURS, scaleColour } from '../../../base/colour';
import type { Labels } from '../data/labels';

/** What no value has, and what all have where nothing is told by colour. */
export const NO_VALUE = '#8a8f98';
export const PLAIN = '#4269d0';
const SHADES = 256;
/** Ends and middle of a scale on which less and more are opposites. */
const LOW = '#2f6fd0';
const MIDDLE = '#9a9aa6';
const HIGH = '#d0482f';

export type Rgb = readonly [number, number, number];

export function rgbOf(colour: string): Rgb {
  const channel = (at: number): number => parseInt(colour.slice(at, at + 2), 16);
  return [channel(1), channel(3), channel(5)];
}

/** A colour for each of some values; beyond the palette they come round again. */
export function colourOfCode(code: number): string {
  return code < 0 ? NO_VALUE : (RUN_COLOURS[code % RUN_COLOURS.length] ?? PLAIN);
}

export type Ramp = (place: number) => string;

export const gradient: Ramp = scaleColour;

/** From one end over grey to the other. */
export const diverging: Ramp = (place) => {
  const [from, to] = place < 0.5 ? [LOW, MIDDLE] : [MIDDLE, HIGH];
  const share = place < 0.5 ? 2 * place : 2 * place - 1;
  const channels = rgbOf(from).map((low, at) => low + ((rgbOf(to)[at] ?? 0) - low) * share);
  return `#${channels.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;
};

/** What numbers the ends of a scale stand for; where zero is the middle both are as far from it. */
export function rangeOf(numbers: Float32Array, isDiverging: boolean): readonly [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of numbers) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  if (!isDiverging || low >= 0 || high <= 0) return [low, high];
  const reach = Math.max(-low, high);
  return [-reach, reach];
}

/** Red, green and blue of each row by its number. */
export function paintNumbers(
  numbers: Float32Array,
  ramp: Ramp,
  [low, high]: readonly [number, number],
): Uint8Array {
  const shades = Array.from({ length: SHADES }, (_, at) => rgbOf(ramp(at / (SHADES - 1))));
  const scale = high > low ? (SHADES - 1) / (high - low) : 0;
  const none = rgbOf(NO_VALUE);
  return paint(numbers.length, (row) => {
    const value = numbers[row] ?? NaN;
    return Number.isNaN(value) ? none : (shades[Math.round((value - low) * scale)] ?? none);
  });
}

/** Red, green and blue of each row by which value it has. */
export function paintCodes(codes: Int32Array): Uint8Array {
  const shades = RUN_COLOURS.map(rgbOf);
  const none = rgbOf(NO_VALUE);
  return paint(codes.length, (row) => {
    const code = codes[row] ?? -1;
    return code < 0 ? none : (shades[code % shades.length] ?? none);
  });
}

export function paintAlike(count: number): Uint8Array {
  const shade = rgbOf(PLAIN);
  return paint(count, () => shade);
}

function paint(count: number, shadeOf: (row: number) => Rgb): Uint8Array {
  const colour = new Uint8Array(4 * count);
  for (let row = 0; row < count; row++) {
    const [red, green, blue] = shadeOf(row);
    colour[4 * row] = red;
    colour[4 * row + 1] = green;
    colour[4 * row + 2] = blue;
    colour[4 * row + 3] = 200;
  }
  return colour;
}

/** From 0 to 255 for each row, so that the area of a point grows with its number. */
export function sizesOf(labels: Labels): Uint8Array | null {
  const { numbers } = labels;
  if (!numbers) return null;
  const [low, high] = rangeOf(numbers, false);
  const sizes = new Uint8Array(numbers.length);
  numbers.forEach((value, row) => {
    const share = high > low ? (value - low) / (high - low) : 1;
    sizes[row] = Number.isNaN(share) ? 0 : Math.round(255 * Math.sqrt(share));
  });
  return sizes;
}

export const SEEN = { hidden: 0, back: 70, usual: 200, front: 255 } as const;

/** The same colours with how much is seen of each row. */
export function withSeen(colour: Uint8Array, seenOf: (row: number) => number): Uint8Array {
  const seen = colour.slice();
  for (let row = 0; 4 * row < seen.length; row++) seen[4 * row + 3] = seenOf(row);
  return seen;
}
