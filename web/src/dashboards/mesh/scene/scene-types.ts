import type { GeometryResponse, Light, Material } from '../../../api/schemas';
import type { Orbit, Projection, UpAxis } from '../../../charts/webgl/orbit-camera';
import type { BoundingSphere } from '../mesh-geometry';

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
