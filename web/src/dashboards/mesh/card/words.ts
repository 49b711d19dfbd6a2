import { formatExact, plural } from '../../../base/format';
import { type Geometry, isSampled, pointsIn } from '../data/geometry';

/** What a mesh consists of, in words. */
export function describe(geometry: Geometry): string {
  const { about, face } = geometry;
  if (isSampled(geometry)) {
    return `${formatExact(pointsIn(geometry))} of ${plural(about.drawable, 'point', formatExact)}`;
  }
  if (face === null) return plural(about.drawable, 'point', formatExact);
  const faces = plural(face.length / 3, 'face', formatExact);
  return `${about.points === 1 ? '1 vertex' : `${formatExact(about.points)} vertices`}, ${faces}`;
}
