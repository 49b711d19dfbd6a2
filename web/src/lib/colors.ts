/**
 * Run colours, in an order in which neighbours are told apart by colour-blind eyes as well. Each has
 * a contrast of 3:1 against both the light and the dark background.
 */
export const RUN_COLORS = [
  '#4269d0',
  '#dd7900',
  '#2f9e5b',
  '#c2379a',
  '#0d97a8',
  '#b0413e',
  '#7a5cc7',
  '#8a6d1a',
  '#e0559a',
  '#4d7c0f',
  '#5b6b82',
  '#b45309',
  '#1d74b8',
  '#e2604f',
  '#3f8f8b',
  '#a06bd6',
  '#a98700',
  '#6f9a1f',
  '#c93060',
  '#2b7a5f',
  '#8f6650',
  '#5f8dd3',
  '#7f8a70',
  '#a35b91',
] as const;

const SPLIT_SUFFIX = /(?:^|[/_.-])(train|training|val|valid|validation|eval|evaluation|test)$/i;

/**
 * A run's own colour: the same in every tab, on every machine, whatever other runs there are. The
 * halves of an experiment that train and validate share one. Names that differ only in a number, as
 * those of a sweep do, mostly take different ones.
 */
export function getRunColor(name: string): string {
  const colour = colorCache.get(name) ?? hashToColor(name);
  colorCache.set(name, colour);
  return colour;
}

/**
 * Colours for the runs of one log, given by age. The first experiments, as many as there are colours,
 * get one each: their own, or the next that none of the older ones has. So a small log has no two
 * alike, and no run that is yet to come changes the colour of one that is there.
 */
export function assignRunColors(namesByAge: Iterable<string>): Map<string, string> {
  const assigned = new Map<string, string>();
  const taken = new Set<string>();
  for (const name of namesByAge) {
    if (taken.size === RUN_COLORS.length) break;
    const experiment = name.replace(SPLIT_SUFFIX, '');
    const colour = assigned.get(experiment) ?? findFreeColor(getRunColor(name), taken);
    taken.add(colour);
    assigned.set(experiment, colour).set(name, colour);
  }
  return assigned;
}

function findFreeColor(wanted: string, taken: ReadonlySet<string>): string {
  const first = RUN_COLORS.findIndex((colour) => colour === wanted);
  const round = [...RUN_COLORS.slice(first), ...RUN_COLORS.slice(0, first)];
  return round.find((colour) => !taken.has(colour)) ?? wanted;
}

/** Those of ten thousand runs take a while to make, and never change. */
const colorCache = new Map<string, string>();

function hashToColor(name: string): string {
  let numbers = 0;
  const words = name.replace(SPLIT_SUFFIX, '').replace(/\d+/g, (digits) => {
    numbers += hashDigits(digits);
    return '#';
  });
  return RUN_COLORS[(hashText(words) + numbers) % RUN_COLORS.length] ?? RUN_COLORS[0];
}

/**
 * Numbers up to the count of colours weigh as much as they are, so that 0, 1, 2, … differ. Above it each
 * digit, in a system with that base, has a weight of its own: powers of two, which sweeps are full of,
 * would else share two or three colours. Zeros in front count as well: the learning rates 0.3 and 0.03
 * differ in nothing else.
 */
function hashDigits(digits: string): number {
  const zeros = /^0+(?=\d)/.exec(digits)?.[0].length ?? 0;
  let weight = 5 * zeros;
  let rest = Number(digits.slice(-6));
  for (const factor of [1, 7, 5, 11]) {
    weight += factor * (rest % RUN_COLORS.length);
    rest = Math.floor(rest / RUN_COLORS.length);
  }
  return weight;
}

/** Lines of a run that validates are dashed, so that colour is not all that sets them apart. */
export function isEvaluationRun(name: string): boolean {
  const half = SPLIT_SUFFIX.exec(name)?.[1]?.toLowerCase() ?? 'train';
  return !half.startsWith('train');
}

/** FNV-1a, 32 bit. */
function hashText(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  return value >>> 0;
}

/** Contrast of two `#rrggbb` colours as WCAG defines it, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Ends and middles of the scale; as with run colours each is seen on both backgrounds. */
const COLOR_SCALE = ['#3f6fe0', '#7d62cf', '#b04fa5', '#cf4d66', '#d4652a', '#b98200'] as const;

/** A shade for a place from 0 to 1: the hue runs from blue to amber, as colour-blind eyes see it. */
export function interpolateColor(place: number): string {
  const along = Math.min(1, Math.max(0, place)) * (COLOR_SCALE.length - 1);
  const before = Math.min(COLOR_SCALE.length - 2, Math.floor(along));
  const [from, to] = [
    COLOR_SCALE[before] ?? COLOR_SCALE[0],
    COLOR_SCALE[before + 1] ?? COLOR_SCALE[0],
  ];
  return mixColors(from, to, along - before);
}

function mixColors(one: string, other: string, share: number): string {
  const channels = [1, 3, 5].map((at) => {
    const [from, to] = [one, other].map((colour) => parseInt(colour.slice(at, at + 2), 16));
    const value = Math.round((from ?? 0) * (1 - share) + (to ?? 0) * share);
    return value.toString(16).padStart(2, '0');
  });
  return `#${channels.join('')}`;
}

/**
 * Colours for how much there is of something: none is the paper itself, and each step towards the
 * other end looks equally large. Interpolated in Oklab, where that is so.
 */

type Oklab = readonly [lightness: number, a: number, b: number];

const LIGHT_RAMP = ['#ffffff', '#d5dcf8', '#a4b1ef', '#7f7fe0', '#7349c0', '#5d1f86', '#2e0a3f'];
const DARK_RAMP = ['#1a1a21', '#2d2a5c', '#5b3a9e', '#a1489f', '#dd6a74', '#f7a65f', '#fdf0b6'];

/** 256 colours, red, green, blue and alpha each, from none to all. */
export type ColorTable = Uint8ClampedArray<ArrayBuffer>;

const rampCache = new Map<boolean, ColorTable>();

/** The ramp that begins with paper of a colour such as `rgb(26, 26, 33)` or `#fff`. */
export function getSequentialRamp(paper: string): ColorTable {
  const isDark = getLightness(paper) < 0.5;
  const shades = rampCache.get(isDark) ?? makeRamp(isDark ? DARK_RAMP : LIGHT_RAMP);
  rampCache.set(isDark, shades);
  return shades;
}

function makeRamp(stops: readonly string[]): ColorTable {
  const labs = stops.map((stop) => toOklab(parseRgb(stop)));
  const shades = new Uint8ClampedArray(4 * 256);
  for (let at = 0; at < 256; at++) {
    const along = (at / 255) * (labs.length - 1);
    const before = Math.min(labs.length - 2, Math.floor(along));
    const [from = BLACK, to = BLACK] = [labs[before], labs[before + 1]];
    shades.set([...toRgb(mixOklab(from, to, along - before)), 255], 4 * at);
  }
  return shades;
}

const BLACK: Oklab = [0, 0, 0];

function mixOklab(from: Oklab, to: Oklab, share: number): Oklab {
  const between = (at: 0 | 1 | 2): number => from[at] * (1 - share) + to[at] * share;
  return [between(0), between(1), between(2)];
}

/** How light a colour looks, from 0 to 1. */
export function getLightness(colour: string): number {
  return toOklab(parseRgb(colour))[0];
}

/** Red, green and blue of `#fff`, `#4269d0` or `rgb(66, 105, 208)`. */
export function parseRgb(colour: string): readonly number[] {
  if (!colour.startsWith('#')) return (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  const digits = colour.length < 7 ? colour.replace(/[^#]/g, '$&$&') : colour;
  return [1, 3, 5].map((at) => parseInt(digits.slice(at, at + 2), 16));
}

function toOklab(channels: readonly number[]): Oklab {
  const [r = 0, g = 0, b = 0] = channels.map((channel) => toLinearRgb(channel / 255));
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
  ].map((channel) => 255 * toGammaRgb(channel));
}

function toLinearRgb(channel: number): number {
  return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
}

function toGammaRgb(channel: number): number {
  return channel <= 0.0031308 ? 12.92 * channel : 1.055 * channel ** (1 / 2.4) - 0.055;
}
