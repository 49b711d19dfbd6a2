/** Geometry of meshes, and the types by which cards and the scene (three.js) exchange them. */
import type { Camera, GeometryResponse, Light, Material, MeshInfo } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/mesh';
import {
  DEFAULT_ORBIT,
  makeOrbit,
  type Orbit,
  type Projection,
  type UpAxis,
  type Vec3,
} from '../../charts/webgl/orbit-camera';
import { formatInteger } from '../../lib/format';

export function countPoints({ position }: GeometryResponse): number {
  return position.length / 3;
}

/** Return whether the response has only some of the points. */
export function isSampled(geometry: GeometryResponse): boolean {
  return geometry.face === null && geometry.info.finite_count > countPoints(geometry);
}

export function getByteSize({ position, face, normal, color }: GeometryResponse): number {
  return [position, face, normal, color].reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
}

/** The part of space that a card shows at first. The scene is scaled to its radius. */
export interface BoundingSphere {
  readonly center: Vec3;
  readonly radius: number;
}

/** Return a sphere around some meshes; null if none has points. */
export function findBoundingSphere(
  meshes: readonly Pick<MeshInfo, 'min' | 'max' | 'radius' | 'finite_count'>[],
): BoundingSphere | null {
  const visible = meshes.filter(({ finite_count }) => finite_count > 0);
  if (visible.length === 0) return null;
  const low = combineCorners(visible, 'min', Math.min);
  const high = combineCorners(visible, 'max', Math.max);
  const center = getMidpoint(low, high);
  const radii = visible.map((mesh) => {
    const [x, y, z] = getMidpoint(mesh.min, mesh.max);
    return Math.hypot(x - center[0], y - center[1], z - center[2]) + mesh.radius;
  });
  // The common bounding box may be smaller than the spheres of the single meshes.
  const [x, y, z] = getMidpoint([-low[0], -low[1], -low[2]], high);
  return { center, radius: Math.min(Math.max(...radii), Math.hypot(x, y, z)) || 1 };
}

function combineCorners(
  meshes: readonly Pick<MeshInfo, 'min' | 'max'>[],
  end: 'min' | 'max',
  combine: (...values: number[]) => number,
): Vec3 {
  const along = (axis: 0 | 1 | 2): number => combine(...meshes.map((mesh) => mesh[end][axis]));
  return [along(0), along(1), along(2)];
}

/** Halves first, because the sum of two large numbers may overflow. */
function getMidpoint(one: Vec3, other: Vec3): Vec3 {
  const along = (axis: 0 | 1 | 2): number => one[axis] / 2 + other[axis] / 2;
  return [along(0), along(1), along(2)];
}

/** Convert logged coordinates to those of the scene. */
export function toSphereCoordinates(point: Vec3, { center, radius }: BoundingSphere): Vec3 {
  return [
    (point[0] - center[0]) / radius,
    (point[1] - center[1]) / radius,
    (point[2] - center[2]) / radius,
  ];
}

/** Return the orbit of a logged camera; null if it has no position. */
export function getLoggedOrbit(
  camera: Camera,
  bounds: BoundingSphere,
  projection: Projection,
  up: UpAxis,
): Orbit | null {
  const { position, look_at } = camera;
  if (!position) return null;
  const target = look_at ? toSphereCoordinates(look_at, bounds) : DEFAULT_ORBIT.target;
  return makeOrbit(toSphereCoordinates(position, bounds), target, projection, up);
}

export function getLoggedUpAxis(camera: Camera | undefined): UpAxis {
  const [, y, z] = camera?.up ?? [0, 1, 0];
  return Math.abs(z) > Math.abs(y) ? 'z' : 'y';
}

/** For example "200,000 of 5,000,000 points" or "800 vertices, 1,600 faces". */
export function describeGeometry(geometry: GeometryResponse): string {
  const { info, face } = geometry;
  if (isSampled(geometry)) {
    const shown = formatInteger(countPoints(geometry));
    return m.infoSampledPoints({ shown, count: info.finite_count });
  }
  if (face === null) return common.pointCount({ count: info.finite_count });
  const faces = m.infoFaces({ count: face.length / 3 });
  return m.infoVertices({ count: info.vertex_count, faces });
}

/** Point clouds are always drawn as points. */
export type DrawMode = 'surface' | 'edges' | 'wires' | 'points';

/** Vertex colors as logged or by height, or one color for all vertices. */
export type Coloring = 'logged' | 'height' | { readonly plain: string };

export interface Appearance {
  readonly drawMode: DrawMode;
  readonly coloring: Coloring;
  readonly flatShading: boolean;
  /** In CSS pixels; null: as logged, or depending on the number of points. */
  readonly pointSize: number | null;
  readonly material: Material | null;
}

export interface MeshInstance {
  readonly geometry: GeometryResponse;
  readonly appearance: Appearance;
}

/** Everything that the image of a viewport depends on. */
export interface SceneState {
  readonly meshes: readonly MeshInstance[];
  readonly bounds: BoundingSphere;
  readonly orbit: Orbit;
  readonly up: UpAxis;
  readonly projection: Pick<Projection, 'fov' | 'orthographic'>;
  /** Empty: a light that moves with the camera. */
  readonly lights: readonly Light[];
  readonly brightness: number;
  readonly axes: boolean;
  readonly grid: boolean;
  /** Color of edges, grid and axes. */
  readonly lineColor: string;
  readonly background: string;
  /** In CSS pixels. */
  readonly width: number;
  readonly height: number;
  /** While the camera moves, only as many elements are drawn as a frame allows. */
  readonly isMoving: boolean;
}

export interface SceneHandle {
  update(state: SceneState): void;
  /** Resolves when the scene is drawn completely. */
  exportPng(background: string): Promise<Blob>;
  close(): void;
}

/** Draws all viewports of the page with one WebGL context. */
export interface RendererPool {
  /** There is no GPU. */
  readonly isSoftware: boolean;
  /** `ondrawn` is called with the fraction of the elements that is drawn. */
  open(canvas: HTMLCanvasElement, ondrawn: (fraction: number) => void): SceneHandle;
}
