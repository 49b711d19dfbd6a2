import {
  DEFAULT_ORBIT,
  makeOrbit,
  type Orbit,
  type Projection,
  type UpAxis,
  type Vec3,
} from '../../charts/webgl/orbit-camera';
import { formatInteger, formatPlural } from '../../lib/format';

/** What the server says of meshes, field for field as in `tracklight/dashboards/mesh`. */

export interface LoggedCamera {
  readonly orthographic?: boolean;
  readonly fov?: number | null;
  readonly position?: Vec3 | null;
  readonly look_at?: Vec3 | null;
  readonly up?: Vec3 | null;
}

export interface LoggedLight {
  readonly kind: 'ambient' | 'directional' | 'point';
  readonly color?: string;
  readonly intensity?: number;
  readonly position?: Vec3 | null;
}

export interface LoggedMaterial {
  readonly kind?: string;
  readonly color?: string | null;
  readonly size?: number | null;
  readonly size_attenuation?: boolean;
  readonly opacity?: number | null;
  readonly wireframe?: boolean;
  readonly flat_shading?: boolean;
  readonly roughness?: number | null;
  readonly metalness?: number | null;
}

/** What the writer of a mesh asked for; what it left out is left out here. */
export interface SceneConfig {
  readonly camera?: LoggedCamera | null;
  readonly lights?: readonly LoggedLight[];
  readonly material?: LoggedMaterial | null;
}

export interface MeshInfo {
  readonly step: number;
  readonly wall_time: number;
  /** How many meshes the batch of this step holds, and which one this is. */
  readonly items: number;
  readonly item: number;
  readonly points: number;
  /** Of the points those that are somewhere. */
  readonly drawable: number;
  readonly faces: number;
  readonly low: Vec3;
  readonly high: Vec3;
  /** How far the furthest point is from the middle of the box. */
  readonly radius: number;
  /** Type and shape of what was logged. */
  readonly parts: Readonly<Record<string, string>>;
  readonly look: SceneConfig;
  readonly notes: readonly string[];
}

/** A vertex stands at `centre + scale * position`. Any number of the first ones is a fair sample. */
export interface GeometryResponse {
  readonly about: MeshInfo;
  readonly centre: Vec3;
  readonly scale: number;
  readonly position: Float32Array;
  readonly face: Int32Array | null;
  /** Signed bytes. */
  readonly normal: Uint8Array | null;
  readonly color: Uint8Array | null;
}

export function countPoints({ position }: GeometryResponse): number {
  return position.length / 3;
}

/** Whether the server has more points than these. */
export function isSampled(geometry: GeometryResponse): boolean {
  return geometry.face === null && geometry.about.drawable > countPoints(geometry);
}

export function getByteSize({ position, face, normal, color }: GeometryResponse): number {
  return [position, face, normal, color].reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
}

/** The ball that a card shows at first: everything in it is measured in its radius. */
export interface BoundingSphere {
  readonly center: Vec3;
  readonly radius: number;
}

/** The frame around some meshes; null if there is nothing to see of them. */
export function findBoundingSphere(
  meshes: readonly Pick<MeshInfo, 'low' | 'high' | 'radius' | 'drawable'>[],
): BoundingSphere | null {
  const seen = meshes.filter(({ drawable }) => drawable > 0);
  if (seen.length === 0) return null;
  const low = combineCorners(seen, 'low', Math.min);
  const high = combineCorners(seen, 'high', Math.max);
  const centre = getMidpoint(low, high);
  const reaches = seen.map((mesh) => {
    const [x, y, z] = getMidpoint(mesh.low, mesh.high);
    return Math.hypot(x - centre[0], y - centre[1], z - centre[2]) + mesh.radius;
  });
  // Boxes that lie far apart may be less than the balls around what is in them.
  const [x, y, z] = getMidpoint([-low[0], -low[1], -low[2]], high);
  return { center: centre, radius: Math.min(Math.max(...reaches), Math.hypot(x, y, z)) || 1 };
}

function combineCorners(
  meshes: readonly Pick<MeshInfo, 'low' | 'high'>[],
  end: 'low' | 'high',
  best: (...values: number[]) => number,
): Vec3 {
  const along = (axis: 0 | 1 | 2): number => best(...meshes.map((mesh) => mesh[end][axis]));
  return [along(0), along(1), along(2)];
}

/** Halves first: the sum of two large numbers may be infinite. */
function getMidpoint(one: Vec3, other: Vec3): Vec3 {
  const along = (axis: 0 | 1 | 2): number => one[axis] / 2 + other[axis] / 2;
  return [along(0), along(1), along(2)];
}

/** A place of the log as places in a frame are told. */
export function toSphereCoordinates(place: Vec3, { center, radius }: BoundingSphere): Vec3 {
  return [
    (place[0] - center[0]) / radius,
    (place[1] - center[1]) / radius,
    (place[2] - center[2]) / radius,
  ];
}

/** The orbit that a logged camera asks for; null if it asks for no place. */
export function getLoggedOrbit(
  camera: LoggedCamera,
  frame: BoundingSphere,
  lens: Projection,
  up: UpAxis,
): Orbit | null {
  const { position, look_at } = camera;
  if (!position) return null;
  const target = look_at ? toSphereCoordinates(look_at, frame) : DEFAULT_ORBIT.target;
  return makeOrbit(toSphereCoordinates(position, frame), target, lens, up);
}

/** The axis that a logged camera has on top. */
export function getLoggedUpAxis(camera: LoggedCamera | null | undefined): UpAxis {
  const [, y, z] = camera?.up ?? [0, 1, 0];
  return Math.abs(z) > Math.abs(y) ? 'z' : 'y';
}

/** What a mesh consists of, in words. */
export function describeGeometry(geometry: GeometryResponse): string {
  const { about, face } = geometry;
  if (isSampled(geometry)) {
    return `${formatInteger(countPoints(geometry))} of ${formatPlural(about.drawable, 'point', formatInteger)}`;
  }
  if (face === null) return formatPlural(about.drawable, 'point', formatInteger);
  const faces = formatPlural(face.length / 3, 'face', formatInteger);
  return `${about.points === 1 ? '1 vertex' : `${formatInteger(about.points)} vertices`}, ${faces}`;
}
