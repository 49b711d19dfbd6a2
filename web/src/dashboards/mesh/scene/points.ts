import { heightAtTarget, type Lens } from '../../../charts/space/orbit';
import { type Geometry, pointsIn } from '../data/geometry';
import type { Dress, Shown } from './shown';

/** How large points are. */
export interface PointSize {
  /** In radii of the frame where the points have a size in space, else in pixels. */
  readonly size: number;
  readonly isInSpace: boolean;
  /** Smaller points are squares: nobody would see that they are not round. */
  readonly isRound: boolean;
}

const ROUND_FROM = 3.5;

export function pointSizeOf(geometry: Geometry, dress: Dress, shown: Shown): PointSize {
  const { pointSize, material } = dress;
  const logged = pointSize === null ? (material?.size ?? null) : null;
  if (logged !== null && material?.size_attenuation !== false) {
    return { size: logged / shown.frame.radius, isInSpace: true, isRound: true };
  }
  const size = pointSize ?? logged ?? usualPointSize(pointsIn(geometry), shown.width, shown.height);
  return { size, isInSpace: false, isRound: size >= ROUND_FROM };
}

/** In pixels, so that a picture is neither empty nor one blot. */
export function usualPointSize(points: number, width: number, height: number): number {
  const each = (0.3 * width * height) / Math.max(1, points);
  return Math.max(1.25, Math.min(6, Math.sqrt(each)));
}

/**
 * What three.js wants to be told for a size in space. It takes half of the canvas, not of the part
 * that is drawn on, for the height of the picture, and knows nothing of the angle of the lens.
 */
export function sizeForThree(size: number, shown: Shown, lens: Lens, canvasHeight: number): number {
  if (lens.orthographic) return (size * shown.height) / heightAtTarget(shown.orbit, lens);
  const reach = Math.tan((lens.fov * Math.PI) / 360);
  return ((size / reach) * shown.height) / canvasHeight;
}
