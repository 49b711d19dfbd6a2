import { shadesFor } from '../../../charts/colour/ramp';
import { type Axis, placesOn } from './axis';

/** The colour of each session, and the order in which they are drawn. */
export interface Ink {
  /** From 0 to LEVELS − 1. */
  readonly levels: Uint8Array;
  /** All sessions; those that are to be seen best come last. */
  readonly order: Int32Array;
}

/** Finer differences of colour are not seen, and lines of one colour are drawn at once. */
export const LEVELS = 32;

/** Sessions without a value have the palest colour. */
export function inkOf(axis: Axis, isLow: boolean): Ink {
  const places = placesOn(axis);
  const levels = Uint8Array.from(places, (place) => levelOf(isLow ? 1 - place : place));
  const order = Int32Array.from(levels, (_, row) => row);
  order.sort((a, b) => (levels[a] ?? 0) - (levels[b] ?? 0) || b - a);
  return { levels, order };
}

function levelOf(place: number): number {
  if (Number.isNaN(place)) return 0;
  return Math.round(Math.min(1, Math.max(0, place)) * (LEVELS - 1));
}

/** Where in the ramp the palest colour is that is still seen on paper. */
const PALEST = 62;
const STRONGEST = 236;
const known = new Map<boolean, readonly string[]>();

/** A colour for each level, from pale to strong. */
export function inkColours(isDark: boolean): readonly string[] {
  const colours = known.get(isDark) ?? makeColours(isDark);
  known.set(isDark, colours);
  return colours;
}

function makeColours(isDark: boolean): string[] {
  const shades = shadesFor(isDark ? '#000000' : '#ffffff');
  return Array.from({ length: LEVELS }, (_, level) => {
    const at = 4 * Math.round(PALEST + ((STRONGEST - PALEST) * level) / (LEVELS - 1));
    return `rgb(${shades[at]}, ${shades[at + 1]}, ${shades[at + 2]})`;
  });
}
