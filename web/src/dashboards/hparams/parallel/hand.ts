import type { Brush } from '../model/brush';

/** Closer to the end of a brush than this, the end is moved and not the whole, in pixels. */
const GRIP = 6;

/** What a drag along an axis does to the brush that is there. */
export type Grab = (place: number) => Brush;

/**
 * Begins at a place: the end of a brush is pulled, its middle moves it, and anywhere else a new one
 * begins. `pixels` is how long the axis is.
 */
export function grabBrush(brush: Brush | null, from: number, pixels: number): Grab {
  const grip = GRIP / pixels;
  if (brush) {
    const [low, high] = brush;
    if (Math.abs(from - high) <= grip) return (place) => ordered(low, place);
    if (Math.abs(from - low) <= grip) return (place) => ordered(place, high);
    if (from > low && from < high) return (place) => moved(brush, place - from);
  }
  return (place) => ordered(from, place);
}

function ordered(one: number, other: number): Brush {
  return one <= other ? [one, other] : [other, one];
}

/** Moved as far as the ends of the axis allow. */
function moved([low, high]: Brush, by: number): Brush {
  const shift = Math.min(1 - high, Math.max(-low, by));
  return [low + shift, high + shift];
}
