import type { Extent } from '../../../charts/types';
import { type Axes, type Curve, pointsOf } from './curve';

export interface Found {
  /** Of the curve that is nearest. */
  readonly id: string;
  readonly threshold: number;
}

/**
 * The threshold at which a curve is nearest to a place in the plane, however far away. `seen` says
 * how much of each axis is on the screen, as nearness is a matter of what the eye sees.
 */
export function findNearest(
  curves: readonly Curve[],
  axes: Axes,
  place: { readonly x: number; readonly y: number },
  seen: Extent,
): Found | null {
  const [across, up] = [lengthOf(seen.x), lengthOf(seen.y)];
  let found: Found | null = null;
  let least = Infinity;
  for (const curve of curves) {
    const points = pointsOf(curve, axes);
    if (!points) continue;
    for (let at = 0; at < points.x.length; at++) {
      const dx = ((points.x[at] ?? NaN) - place.x) / across;
      const dy = ((points.y[at] ?? NaN) - place.y) / up;
      const distance = dx * dx + dy * dy;
      if (!(distance < least)) continue;
      least = distance;
      found = { id: curve.id, threshold: curve.row.columns?.threshold[at] ?? NaN };
    }
  }
  return found;
}

function lengthOf([low, high]: readonly [number, number]): number {
  return high - low;
}
