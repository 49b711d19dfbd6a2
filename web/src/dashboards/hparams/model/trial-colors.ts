import { getSequentialRamp } from '../../../lib/colors';
import { type ColumnAxis, computePositions } from './column-axes';

/** The colour of each session, and the order in which they are drawn. */
export interface TrialColors {
  /** From 0 to LEVELS − 1. */
  readonly levels: Uint8Array;
  /** All sessions; those that are to be seen best come last. */
  readonly drawOrder: Int32Array;
}

/** Finer differences of colour are not seen, and lines of one colour are drawn at once. */
export const COLOR_LEVELS = 32;

/** Sessions without a value have the palest colour. */
export function computeTrialColors(axis: ColumnAxis, isLow: boolean): TrialColors {
  const places = computePositions(axis);
  const levels = Uint8Array.from(places, (place) => getColorLevel(isLow ? 1 - place : place));
  const order = Int32Array.from(levels, (_, row) => row);
  order.sort((a, b) => (levels[a] ?? 0) - (levels[b] ?? 0) || b - a);
  return { levels, drawOrder: order };
}

function getColorLevel(place: number): number {
  if (Number.isNaN(place)) return 0;
  return Math.round(Math.min(1, Math.max(0, place)) * (COLOR_LEVELS - 1));
}

/** Where in the ramp the palest colour is that is still seen on paper. */
const RAMP_START = 62;
const RAMP_END = 236;
const rampCache = new Map<boolean, readonly string[]>();

/** A colour for each level, from pale to strong. */
export function getColorRamp(isDark: boolean): readonly string[] {
  const colours = rampCache.get(isDark) ?? makeColorRamp(isDark);
  rampCache.set(isDark, colours);
  return colours;
}

function makeColorRamp(isDark: boolean): string[] {
  const shades = getSequentialRamp(isDark ? '#000000' : '#ffffff');
  return Array.from({ length: COLOR_LEVELS }, (_, level) => {
    const at = 4 * Math.round(RAMP_START + ((RAMP_END - RAMP_START) * level) / (COLOR_LEVELS - 1));
    return `rgb(${shades[at]}, ${shades[at + 1]}, ${shades[at + 2]})`;
  });
}
