import { interpolateColor, RUN_COLORS } from '../../lib/colors';
import type { ColumnResponse } from './schemas';

const decoder = new TextDecoder();

/** A column of labels; texts are decoded one by one, when somebody looks at them. */
export class LabelColumn {
  readonly name: string;
  readonly kind: 'text' | 'number';
  readonly numbers: Float32Array | null;
  readonly codes: Int32Array | null;
  readonly #text: Uint8Array;
  readonly #ends: Int32Array;

  constructor({ name, kind, numbers, codes, text, ends }: ColumnResponse) {
    this.name = name;
    this.kind = kind;
    this.numbers = numbers;
    this.codes = codes;
    this.#text = text;
    this.#ends = ends;
  }

  /** How many different texts are told apart by codes. */
  get distinctCount(): number {
    return this.#ends.length;
  }

  /** What a row is called. */
  textAt(row: number): string {
    return this.valueText(this.codes ? (this.codes[row] ?? -1) : row);
  }

  valueText(code: number): string {
    const end = this.#ends[code];
    if (end === undefined) return '';
    return decoder.decode(this.#text.subarray(code === 0 ? 0 : this.#ends[code - 1], end));
  }
}

/** For each row the place of its value among `names`, which begin with the most frequent; else -1. */
export function codesByFrequency(
  labels: LabelColumn,
  names: readonly string[],
  total: number,
): Int32Array {
  const places = new Map(names.map((name, place) => [name, place]));
  const { codes } = labels;
  const ranks = Int32Array.from({ length: labels.distinctCount }, (_, code) => {
    const text = labels.valueText(code);
    return text === '' ? -1 : (places.get(text) ?? names.length + code);
  });
  const found = new Int32Array(total);
  for (let row = 0; row < total; row++) {
    found[row] = ranks[codes ? (codes[row] ?? -1) : row] ?? -1;
  }
  return found;
}

/** What no value has, and what all have where nothing is told by colour. */
export const MISSING_COLOR = '#8a8f98';
export const UNIFORM_COLOR = '#4269d0';
const RAMP_SIZE = 256;
/** Ends and middle of a scale on which less and more are opposites. */
const DIVERGING_LOW = '#2f6fd0';
const DIVERGING_MIDDLE = '#9a9aa6';
const DIVERGING_HIGH = '#d0482f';

/** How much is seen of a point. */
export const ALPHA = { hidden: 0, back: 70, usual: 200, front: 255 } as const;

export type Rgb = readonly [number, number, number];

export function parseHexColor(colour: string): Rgb {
  const channel = (at: number): number => parseInt(colour.slice(at, at + 2), 16);
  return [channel(1), channel(3), channel(5)];
}

/** A colour for each of some values; beyond the palette they come round again. */
export function categoryColorOf(code: number): string {
  return code < 0 ? MISSING_COLOR : (RUN_COLORS[code % RUN_COLORS.length] ?? UNIFORM_COLOR);
}

export type ColorRamp = (place: number) => string;

export const gradientRamp: ColorRamp = interpolateColor;

/** From one end over grey to the other. */
export const divergingRamp: ColorRamp = (place) => {
  const [from, to] =
    place < 0.5 ? [DIVERGING_LOW, DIVERGING_MIDDLE] : [DIVERGING_MIDDLE, DIVERGING_HIGH];
  const share = place < 0.5 ? 2 * place : 2 * place - 1;
  const channels = parseHexColor(from).map(
    (low, at) => low + ((parseHexColor(to)[at] ?? 0) - low) * share,
  );
  return `#${channels.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;
};

/** What numbers the ends of a scale stand for; where zero is the middle both are as far from it. */
export function valueRange(numbers: Float32Array, isDiverging: boolean): readonly [number, number] {
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
function packRgba(colour: string): number {
  const [red, green, blue] = parseHexColor(colour);
  return new Uint32Array(Uint8Array.of(red, green, blue, ALPHA.usual).buffer)[0] ?? 0;
}

/** Red, green, blue and how much is seen of each row, by its number. */
export function colorNumbers(
  numbers: Float32Array,
  ramp: ColorRamp,
  [low, high]: readonly [number, number],
): Uint8Array {
  const shades = Uint32Array.from({ length: RAMP_SIZE }, (_, at) =>
    packRgba(ramp(at / (RAMP_SIZE - 1))),
  );
  const scale = high > low ? (RAMP_SIZE - 1) / (high - low) : 0;
  const painted = new Uint32Array(numbers.length).fill(packRgba(MISSING_COLOR));
  for (let row = 0; row < painted.length; row++) {
    const shade = shades[Math.round(((numbers[row] ?? NaN) - low) * scale)];
    if (shade !== undefined) painted[row] = shade;
  }
  return new Uint8Array(painted.buffer);
}

/** The same by which value each row has. */
export function colorCodes(codes: Int32Array): Uint8Array {
  const shades = Uint32Array.from(RUN_COLORS, packRgba);
  const painted = new Uint32Array(codes.length).fill(packRgba(MISSING_COLOR));
  for (let row = 0; row < painted.length; row++) {
    const shade = shades[(codes[row] ?? -1) % shades.length];
    if (shade !== undefined) painted[row] = shade;
  }
  return new Uint8Array(painted.buffer);
}

export function colorUniform(count: number): Uint8Array {
  return new Uint8Array(new Uint32Array(count).fill(packRgba(UNIFORM_COLOR)).buffer);
}

/** From 0 to 255 for each row, so that the area of a point grows with its number. */
export function pointSizes(labels: LabelColumn): Uint8Array | null {
  const { numbers } = labels;
  if (!numbers) return null;
  const [low, high] = valueRange(numbers, false);
  const sizes = new Uint8Array(numbers.length);
  numbers.forEach((value, row) => {
    const share = high > low ? (value - low) / (high - low) : 1;
    sizes[row] = Number.isNaN(share) ? 0 : Math.round(255 * Math.sqrt(share));
  });
  return sizes;
}

/** The same colours with how much is seen of each row: none, and of those that stand out more. */
export function withAlpha(
  colour: Uint8Array,
  seen: Uint8Array,
  standing: Uint8Array | null,
): Uint8Array {
  const dressed = colour.slice();
  for (let row = 0; row < seen.length; row++) {
    const strength = standing ? (standing[row] ? ALPHA.front : ALPHA.back) : ALPHA.usual;
    dressed[4 * row + 3] = seen[row] ? strength : ALPHA.hidden;
  }
  return dressed;
}
