import type { PartAbout } from '../../../api/images';
import { arrangeGroups, type Arrangement, type Size } from '../geometry/arrange';
import { aspectOf, chooseParts, GAP } from '../picture/parts';

/** Height of the line with the name of a run, in pixels. */
export const CAPTION = 20;
export const STRIP_GAP = 8;

/** Narrower strips than these, and smaller pictures, are scrolled to instead. */
const NARROWEST = 96;
const SMALLEST = 16;
const SMALLEST_ALONE = 64;

/** What the pictures of one step of a card look like: how many, and how wide for their height. */
export interface Shape {
  readonly count: number;
  readonly aspect: number;
}

/** What a card is drawn as until the first of its pictures are known. */
export const UNKNOWN: Shape = { count: 1, aspect: 1 };

/** The shape of the run that has most pictures, so that those of all runs fit. */
export function shapeOf(all: readonly (readonly PartAbout[])[], part: number | null): Shape {
  const [first, ...others] = all.map((parts) => chooseParts(parts, part));
  if (!first) return UNKNOWN;
  const fullest = others.reduce((one, other) => (other.length > one.length ? other : one), first);
  return { count: Math.max(1, fullest.length), aspect: aspectOf(fullest) };
}

/** How the strips of some runs fill a card. */
export function arrangeStrips(runs: number, shape: Shape, place: Size): Arrangement {
  const smallest = shape.count > 1 ? SMALLEST : SMALLEST_ALONE;
  const spacing = { gap: STRIP_GAP, caption: CAPTION, narrowest: NARROWEST, smallest };
  return arrangeGroups(runs, { ...shape, gap: GAP }, place, spacing);
}
