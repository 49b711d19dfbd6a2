import type { Scale } from '../axis/scale';
import { type Columned, nextX } from '../nearest';

/** Pixels that an arrow key moves at least, alone and with shift. */
const STEP = 1;
const LEAP = 40;

/** Where an arrow key takes the cursor: to the next point that is seen; null for other keys. */
export function cursorAfter(
  { key, shiftKey }: KeyboardEvent,
  lines: readonly Columned[],
  scale: Scale,
  cursor: number | null,
): number | null {
  const [low, high] = scale.domain;
  if (key === 'Home') return low;
  if (key === 'End') return high;
  const sign = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (sign === undefined) return null;
  if (cursor === null) return sign > 0 ? low : high;
  const pixels = sign * (shiftKey ? LEAP : STEP);
  const step = scale.valueAt(scale.at(cursor) + pixels) - cursor;
  const next = nextX(lines, cursor, step) ?? (sign > 0 ? high : low);
  return Math.max(low, Math.min(high, next));
}
