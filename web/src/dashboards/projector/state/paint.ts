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

/** How much is seen of a point. */
export const SEEN = { hidden: 0, back: 70, usual: 200, front: 255 } as const;

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
  for (let row = 0; row < numbers.length; row++) {
    const value = numbers[row] ?? NaN;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  if (!isDiverging || low >= 0 || high <= 0) return [low, high];
  const reach = Math.max(-low, high);
  return [-reach, reach];
}

/** A colour in one number, as four bytes in memory; how much is seen of it is the last of them. */
function pack(colour: string): number {
  const [red, green, blue] = rgbOf(colour);
  return new Uint32Array(Uint8Array.of(red, green, blue, SEEN.usual).buffer)[0] ?? 0;
}

/** Red, green, blue and how much is seen of each row, by its number. */
export function paintNumbers(
  numbers: Float32Array,
  ramp: Ramp,
  [low, high]: readonly [number, number],
): Uint8Array {
  const shades = Uint32Array.from({ length: SHADES }, (_, at) => pack(ramp(at / (SHADES - 1))));
  const scale = high > low ? (SHADES - 1) / (high - low) : 0;
  const painted = new Uint32Array(numbers.length).fill(pack(NO_VALUE));
  for (let row = 0; row < painted.length; row++) {
    const shade = shades[Math.round(((numbers[row] ?? NaN) - low) * scale)];
    if (shade !== undefined) painted[row] = shade;
  }
  return new Uint8Array(painted.buffer);
}

/** The same by which value each row has. */
export function paintCodes(codes: Int32Array): Uint8Array {
  const shades = Uint32Array.from(RUN_COLOURS, pack);
  const painted = new Uint32Array(codes.length).fill(pack(NO_VALUE));
  for (let row = 0; row < painted.length; row++) {
    const shade = shades[(codes[row] ?? -1) % shades.length];
    if (shade !== undefined) painted[row] = shade;
  }
  return new Uint8Array(painted.buffer);
}

export function paintAlike(count: number): Uint8Array {
  return new Uint8Array(new Uint32Array(count).fill(pack(PLAIN)).buffer);
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

/** The same colours with how much is seen of each row: none, and of those that stand out more. */
export function withSeen(
  colour: Uint8Array,
  seen: Uint8Array,
  standing: Uint8Array | null,
): Uint8Array {
  const dressed = colour.slice();
  for (let row = 0; row < seen.length; row++) {
    const strength = standing ? (standing[row] ? SEEN.front : SEEN.back) : SEEN.usual;
    dressed[4 * row + 3] = seen[row] ? strength : SEEN.hidden;
  }
  return dressed;
}
