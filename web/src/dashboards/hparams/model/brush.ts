import type { Axis } from './axis';
import type { Rule } from './rules';

/** A part of an axis, the lower end first. */
export type Brush = readonly [number, number];

/** Digits enough for a link; a brush is never set more finely than its pixels. */
const DIGITS = 6;

/** What a brush on an axis lets through. */
export function ruleOfBrush(axis: Axis, [from, to]: Brush): Rule {
  const { words } = axis.column;
  const [one, other] = [axis.valueAt(from), axis.valueAt(to)];
  const [low, high] = one <= other ? [one, other] : [other, one];
  if (words) return { values: words.filter((_, place) => place >= low && place <= high) };
  return { range: [shorten(low, high - low, Math.floor), shorten(high, high - low, Math.ceil)] };
}

/** Where a rule is seen on an axis; null where it is no part of one. */
export function brushOfRule(axis: Axis, { range, values }: Rule): Brush | null {
  if (range) return ordered(clamp(axis.at(range[0]), 0), clamp(axis.at(range[1]), 1));
  const { words } = axis.column;
  if (!values || !words || values.length === 0) return null;
  const places = values.map((value) => words.indexOf(value)).filter((place) => place >= 0);
  const [low, high] = [Math.min(...places), Math.max(...places)];
  // Words with others between them are not one part of the axis.
  if (places.length === 0 || high - low + 1 !== places.length) return null;
  const half = 0.5 / words.length;
  const [from, to] = ordered(axis.at(low), axis.at(high));
  return [from - half, to + half];
}

function ordered(one: number, other: number): Brush {
  return one <= other ? [one, other] : [other, one];
}

function clamp(place: number, otherwise: number): number {
  return Number.isNaN(place) ? otherwise : Math.min(1, Math.max(0, place));
}

/** Rounded outwards, so that what was under the brush stays in it. */
function shorten(value: number, span: number, round: (value: number) => number): number {
  const size = Math.max(Math.abs(span), Math.abs(value) * 1e-9);
  if (!(size > 0) || !Number.isFinite(size)) return value;
  const unit = 10 ** (Math.floor(Math.log10(size)) - DIGITS);
  return Number((round(value / unit) * unit).toPrecision(15));
}
