import type { Triple } from '../../../charts/space/orbit';

/** What the server says of meshes, field for field as in `tracklight/dashboards/mesh`. */

export interface LoggedCamera {
  readonly orthographic?: boolean;
  readonly fov?: number | null;
  readonly position?: Triple | null;
  readonly look_at?: Triple | null;
  readonly up?: Triple | null;
}

export interface LoggedLight {
  readonly kind: 'ambient' | 'directional' | 'point';
  readonly color?: string;
  readonly intensity?: number;
  readonly position?: Triple | null;
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
export interface LoggedLook {
  readonly camera?: LoggedCamera | null;
  readonly lights?: readonly LoggedLight[];
  readonly material?: LoggedMaterial | null;
}

export interface About {
  readonly step: number;
  readonly wall_time: number;
  /** How many meshes the batch of this step holds, and which one this is. */
  readonly items: number;
  readonly item: number;
  readonly points: number;
  /** Of the points those that are somewhere. */
  readonly drawable: number;
  readonly faces: number;
  readonly low: Triple;
  readonly high: Triple;
  /** How far the furthest point is from the middle of the box. */
  readonly radius: number;
  /** Type and shape of what was logged. */
  readonly parts: Readonly<Record<string, string>>;
  readonly look: LoggedLook;
  readonly notes: readonly string[];
}

/** A vertex stands at `centre + scale * position`. Any number of the first ones is a fair sample. */
export interface Geometry {
  readonly about: About;
  readonly centre: Triple;
  readonly scale: number;
  readonly position: Float32Array;
  readonly face: Int32Array | null;
  /** Signed bytes. */
  readonly normal: Uint8Array | null;
  readonly color: Uint8Array | null;
}

export function pointsIn({ position }: Geometry): number {
  return position.length / 3;
}

/** Whether the server has more points than these. */
export function isSampled(geometry: Geometry): boolean {
  return geometry.face === null && geometry.about.drawable > pointsIn(geometry);
}

export function bytesOf({ position, face, normal, color }: Geometry): number {
  return [position, face, normal, color].reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
}
