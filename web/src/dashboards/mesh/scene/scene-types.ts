import type {
  BoundingSphere,
  GeometryResponse,
  LoggedLight,
  LoggedMaterial,
} from '../mesh-geometry';
import type { Projection, Orbit, UpAxis } from '../../../charts/webgl/orbit-camera';

/** What a mesh is drawn as. Clouds are always points. */
export type DrawMode = 'surface' | 'edges' | 'wires' | 'points';

/** What colour a vertex has: the logged one, one by its height, or one for all. */
export type Coloring = 'logged' | 'height' | { readonly plain: string };

/** How one mesh is drawn. */
export interface Appearance {
  readonly drawMode: DrawMode;
  readonly coloring: Coloring;
  readonly flatShading: boolean;
  /** In pixels of the screen; null: as logged, or as suits the number of points. */
  readonly pointSize: number | null;
  readonly material: LoggedMaterial | null;
}

export interface MeshInstance {
  readonly geometry: GeometryResponse;
  readonly appearance: Appearance;
}

/** All that one picture depends on. */
export interface SceneState {
  readonly meshes: readonly MeshInstance[];
  readonly bounds: BoundingSphere;
  readonly orbit: Orbit;
  readonly up: UpAxis;
  readonly projection: Pick<Projection, 'fov' | 'orthographic'>;
  /** Empty: a light that goes with the eye. */
  readonly lights: readonly LoggedLight[];
  readonly brightness: number;
  readonly axes: boolean;
  readonly grid: boolean;
  /** For lines that help the eye. */
  readonly lineColor: string;
  /** What the picture stands on. */
  readonly background: string;
  /** In pixels of the page. */
  readonly width: number;
  readonly height: number;
  /** While a hand turns it, being quick is more than being complete. */
  readonly isMoving: boolean;
}

/** A canvas and what is drawn on it. */
export interface SceneHandle {
  update(shown: SceneState): void;
  /** What is seen, once all of it is there. */
  exportPng(background: string): Promise<Blob>;
  close(): void;
}

/** Draws all meshes of the page, on the one graphics context that they share. */
export interface RendererPool {
  /** True where no graphics card helps. */
  readonly isSoftware: boolean;
  /** `ondrawn` is told how much of the picture is there, from 0 to 1. */
  open(canvas: HTMLCanvasElement, ondrawn: (share: number) => void): SceneHandle;
}
