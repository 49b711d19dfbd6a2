/**
 * Colours for how much there is of something: none is the paper itself, and each step towards the
 * other end looks equally large. Interpolated in Oklab, where that is so.
 */

type Oklab = readonly [lightness: number, a: number, b: number];

const ON_LIGHT = ['#ffffff', '#d5dcf8', '#a4b1ef', '#7f7fe0', '#7349c0', '#5d1f86', '#2e0a3f'];
const ON_DARK = ['#1a1a21', '#2d2a5c', '#5b3a9e', '#a1489f', '#dd6a74', '#f7a65f', '#fdf0b6'];

/** 256 colours, red, green, blue and alpha each, from none to all. */
export type Shades = Uint8ClampedArray<ArrayBuffer>;

const known = new Map<boolean, Shades>();

/** The ramp that begins with paper of a colour such as `rgb(26, 26, 33)` or `#fff`. */
export function shadesFor(paper: string): Shades {
  const isDark = brightnessOf(paper) < 0.5;
  const shades = known.get(isDark) ?? makeShades(isDark ? ON_DARK : ON_LIGHT);
  known.set(isDark, shades);
  return shades;
}

function makeShades(stops: readonly string[]): Shades {
  const labs = stops.map((stop) => toOklab(channelsOf(stop)));
  const shades = new Uint8ClampedArray(4 * 256);
  for (let at = 0; at < 256; at++) {
    const along = (at / 255) * (labs.length - 1);
    const before = Math.min(labs.length - 2, Math.floor(along));
    const [from = BLACK, to = BLACK] = [labs[before], labs[before + 1]];
    shades.set([...toRgb(mix(from, to, along - before)), 255], 4 * at);
  }
  return shades;
}

const BLACK: Oklab = [0, 0, 0];

function mix(from: Oklab, to: Oklab, share: number): Oklab {
  const between = (at: 0 | 1 | 2): number => from[at] * (1 - share) + to[at] * share;
  return [between(0), between(1), between(2)];
}

/** How light a colour looks, from 0 to 1. */
export function brightnessOf(colour: string): number {
  return toOklab(channelsOf(colour))[0];
}

/** Red, green and blue of `#fff`, `#4269d0` or `rgb(66, 105, 208)`. */
export function channelsOf(colour: string): readonly number[] {
  if (!colour.startsWith('#')) return (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  const digits = colour.length < 7 ? colour.replace(/[^#]/g, '$&$&') : colour;
  return [1, 3, 5].map((at) => parseInt(digits.slice(at, at + 2), 16));
}

function toOklab(channels: readonly number[]): Oklab {
  const [r = 0, g = 0, b = 0] = channels.map((channel) => linear(channel / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function toRgb([lightness, a, b]: Oklab): number[] {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((channel) => 255 * curved(channel));
}

function linear(channel: number): number {
  return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
}

function curved(channel: number): number {
  return channel <= 0.0031308 ? 12.92 * channel : 1.055 * channel ** (1 / 2.4) - 0.055;
}
