import { interpolateColor, RUN_COLORS } from '../../lib/colors';

/** Color of points without a value, and of all points if nothing is colored. */
export const MISSING_COLOR = '#8a8f98';
export const UNIFORM_COLOR = '#5f8dd3';
const RAMP_SIZE = 256;
const DIVERGING_LOW = '#2f6fd0';
const DIVERGING_MIDDLE = '#9a9aa6';
const DIVERGING_HIGH = '#d0482f';

/** Opacity of points; if some are highlighted, the others are dimmed. */
export const ALPHA = { hidden: 0, dimmed: 70, normal: 200, highlighted: 255 } as const;

export type Rgb = readonly [number, number, number];

export function parseHexColor(color: string): Rgb {
  const channel = (start: number): number => parseInt(color.slice(start, start + 2), 16);
  return [channel(1), channel(3), channel(5)];
}

/** Colors repeat if there are more values than colors. */
export function categoryColorOf(code: number): string {
  return code < 0 ? MISSING_COLOR : (RUN_COLORS[code % RUN_COLORS.length] ?? UNIFORM_COLOR);
}

/** Returns the color of a position from 0 to 1. */
export type ColorRamp = (position: number) => string;

export const gradientRamp: ColorRamp = interpolateColor;

export const divergingRamp: ColorRamp = (position) => {
  const [from, to] =
    position < 0.5 ? [DIVERGING_LOW, DIVERGING_MIDDLE] : [DIVERGING_MIDDLE, DIVERGING_HIGH];
  const fraction = position < 0.5 ? 2 * position : 2 * position - 1;
  const channels = parseHexColor(from).map(
    (low, index) => low + ((parseHexColor(to)[index] ?? 0) - low) * fraction,
  );
  return `#${channels.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;
};

/** Return the numbers at the ends of a scale. A diverging scale has zero in the middle. */
export function valueRange(numbers: Float32Array, isDiverging: boolean): readonly [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (let row = 0; row < numbers.length; row++) {
    const value = numbers[row] ?? NaN;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  if (!isDiverging || low >= 0 || high <= 0) return [low, high];
  const limit = Math.max(-low, high);
  return [-limit, limit];
}

/** Return red, green, blue and alpha as one number, in the byte order of this machine. */
function packRgba(color: string): number {
  const [red, green, blue] = parseHexColor(color);
  return new Uint32Array(Uint8Array.of(red, green, blue, ALPHA.normal).buffer)[0] ?? 0;
}

/** Return four bytes (RGBA) per row. Rows without a number are gray. */
export function colorNumbers(
  numbers: Float32Array,
  ramp: ColorRamp,
  [low, high]: readonly [number, number],
): Uint8Array {
  const colors = Uint32Array.from({ length: RAMP_SIZE }, (_, index) =>
    packRgba(ramp(index / (RAMP_SIZE - 1))),
  );
  const scale = high > low ? (RAMP_SIZE - 1) / (high - low) : 0;
  const rgba = new Uint32Array(numbers.length).fill(packRgba(MISSING_COLOR));
  for (let row = 0; row < rgba.length; row++) {
    const color = colors[Math.round(((numbers[row] ?? NaN) - low) * scale)];
    if (color !== undefined) rgba[row] = color;
  }
  return new Uint8Array(rgba.buffer);
}

/** Return four bytes (RGBA) per row, by the number of its value; -1 is gray. */
export function colorCodes(codes: Int32Array, palette: readonly string[] = RUN_COLORS): Uint8Array {
  const colors = Uint32Array.from(palette, packRgba);
  const rgba = new Uint32Array(codes.length).fill(packRgba(MISSING_COLOR));
  for (let row = 0; row < rgba.length; row++) {
    const color = colors[(codes[row] ?? -1) % colors.length];
    if (color !== undefined) rgba[row] = color;
  }
  return new Uint8Array(rgba.buffer);
}

export function colorUniform(count: number): Uint8Array {
  return new Uint8Array(new Uint32Array(count).fill(packRgba(UNIFORM_COLOR)).buffer);
}

/** Return the colors with the opacity of each row. */
export function withAlpha(
  rgba: Uint8Array,
  visible: Uint8Array,
  highlighted: Uint8Array | null,
): Uint8Array {
  const result = rgba.slice();
  const others = highlighted ? ALPHA.dimmed : ALPHA.normal;
  for (let row = 0; row < visible.length; row++) {
    const alpha = highlighted?.[row] ? ALPHA.highlighted : others;
    result[4 * row + 3] = visible[row] ? alpha : ALPHA.hidden;
  }
  return result;
}
