import type { Triple } from '../../../charts/space/orbit';
import type { About } from '../data/geometry';

/** The ball that a card shows at first: everything in it is measured in its radius. */
export interface Frame {
  readonly centre: Triple;
  readonly radius: number;
}

/** The frame around some meshes; null if there is nothing to see of them. */
export function frameAround(
  meshes: readonly Pick<About, 'low' | 'high' | 'radius' | 'drawable'>[],
): Frame | null {
  const seen = meshes.filter(({ drawable }) => drawable > 0);
  if (seen.length === 0) return null;
  const low = pick(seen, 'low', Math.min);
  const high = pick(seen, 'high', Math.max);
  const centre = middleOf(low, high);
  const reaches = seen.map((mesh) => {
    const [x, y, z] = middleOf(mesh.low, mesh.high);
    return Math.hypot(x - centre[0], y - centre[1], z - centre[2]) + mesh.radius;
  });
  // Boxes that lie far apart may be less than the balls around what is in them.
  const [x, y, z] = middleOf([-low[0], -low[1], -low[2]], high);
  return { centre, radius: Math.min(Math.max(...reaches), Math.hypot(x, y, z)) || 1 };
}

function pick(
  meshes: readonly Pick<About, 'low' | 'high'>[],
  end: 'low' | 'high',
  best: (...values: number[]) => number,
): Triple {
  const along = (axis: 0 | 1 | 2): number => best(...meshes.map((mesh) => mesh[end][axis]));
  return [along(0), along(1), along(2)];
}

/** Halves first: the sum of two large numbers may be infinite. */
function middleOf(one: Triple, other: Triple): Triple {
  const along = (axis: 0 | 1 | 2): number => one[axis] / 2 + other[axis] / 2;
  return [along(0), along(1), along(2)];
}

/** A place of the log as places in a frame are told. */
export function intoFrame(place: Triple, { centre, radius }: Frame): Triple {
  return [
    (place[0] - centre[0]) / radius,
    (place[1] - centre[1]) / radius,
    (place[2] - centre[2]) / radius,
  ];
}
