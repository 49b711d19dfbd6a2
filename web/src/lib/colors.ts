import {
  converter,
  formatHex,
  interpolate,
  modeLrgb,
  modeOklab,
  modeRgb,
  parse,
  useMode,
  wcagContrast,
} from 'culori/fn';

// Only the color spaces that are used, so that the others are not bundled.
useMode(modeRgb);
useMode(modeLrgb);
useMode(modeOklab);

export * from './run-colors';

/** Return the WCAG contrast ratio of two colors, from 1 to 21. */
export function contrast(one: string, other: string): number {
  return wcagContrast(one, other);
}

/** Return black or white text, whichever is more readable on a background. */
export function getReadableTextColor(background: string): string {
  return contrast('#ffffff', background) >= contrast('#1c1c22', background) ? '#ffffff' : '#1c1c22';
}

/** Return red, green and blue from 0 to 255 of any CSS color in sRGB. */
export function parseRgb(color: string): readonly [number, number, number] {
  const rgb = toRgb(parse(color));
  return rgb ? [255 * rgb.r, 255 * rgb.g, 255 * rgb.b] : [0, 0, 0];
}

/** Return a color as a 32-bit pixel of ImageData on little-endian machines. */
export function toPixel(color: string, alpha = 255): number {
  const [red, green, blue] = parseRgb(color).map(Math.round) as [number, number, number];
  return ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Return the perceived lightness of a color, from 0 to 1. */
export function getLightness(color: string): number {
  return toOklab(parse(color))?.l ?? 0;
}

/** Mix two colors in sRGB; `share` is the fraction of the second. */
export function mixColors(one: string, other: string, share: number): string {
  return formatHex(interpolate([one, other], 'rgb')(share));
}

const toRgb = converter('rgb');
const toOklab = converter('oklab');

/** Stops of the sequential ramps, which start with the background. */
const LIGHT_RAMP = ['#ffffff', '#d5dcf8', '#a4b1ef', '#7f7fe0', '#7349c0', '#5d1f86', '#2e0a3f'];
const DARK_RAMP = ['#1a1a21', '#2d2a5c', '#5b3a9e', '#a1489f', '#dd6a74', '#f7a65f', '#fdf0b6'];

/** RGBA bytes of 256 colors. */
export type ColorTable = Uint8ClampedArray<ArrayBuffer>;

const rampCache = new Map<boolean, ColorTable>();

/** Return the sequential color ramp for a background, with perceptually equal steps (Oklab). */
export function getSequentialRamp(background: string): ColorTable {
  const isDark = getLightness(background) < 0.5;
  const ramp = rampCache.get(isDark) ?? makeRamp(isDark ? DARK_RAMP : LIGHT_RAMP);
  rampCache.set(isDark, ramp);
  return ramp;
}

function makeRamp(stops: readonly string[]): ColorTable {
  const scale = interpolate([...stops], 'oklab');
  const table = new Uint8ClampedArray(4 * 256);
  for (let index = 0; index < 256; index++) {
    const { r, g, b } = toRgb(scale(index / 255));
    table.set([255 * r, 255 * g, 255 * b, 255], 4 * index);
  }
  return table;
}
