import type { Frame } from '../camera/frame';
import type { Lens, Orbit, Up } from '../../../charts/space/orbit';
import type { Geometry, LoggedLight, LoggedMaterial } from '../data/geometry';

/** What a mesh is drawn as. Clouds are always points. */
export type Form = 'surface' | 'edges' | 'wires' | 'points';

/** What colour a vertex has: the logged one, one by its height, or one for all. */
export type Shade = 'logged' | 'height' | { readonly plain: string };

/** How one mesh is drawn. */
export interface Dress {
  readonly form: Form;
  readonly shade: Shade;
  readonly flat: boolean;
  /** In pixels of the screen; null: as logged, or as suits the number of points. */
  readonly pointSize: number | null;
  readonly material: LoggedMaterial | null;
}

export interface ShownMesh {
  readonly geometry: Geometry;
  readonly dress: Dress;
}

/** All that one picture depends on. */
export interface Shown {
  readonly meshes: readonly ShownMesh[];
  readonly frame: Frame;
  readonly orbit: Orbit;
  readonly up: Up;
  readonly lens: Pick<Lens, 'fov' | 'orthographic'>;
  /** Empty: a light that goes with the eye. */
  readonly lights: readonly LoggedLight[];
  readonly brightness: number;
  readonly axes: boolean;
  readonly grid: boolean;
  /** For lines that help the eye. */
  readonly ink: string;
  /** What the picture stands on. */
  readonly paper: string;
  /** In pixels of the page. */
  readonly width: number;
  readonly height: number;
  /** While a hand turns it, being quick is more than being complete. */
  readonly isMoving: boolean;
}

/** A canvas and what is drawn on it. */
export interface StudioView {
  show(shown: Shown): void;
  /** What is seen, once all of it is there. */
  photograph(background: string): Promise<Blob>;
  close(): void;
}

/** Draws all meshes of the page, on the one graphics context that they share. */
export interface Studio {
  /** True where no graphics card helps. */
  readonly isSoftware: boolean;
  /** `ondrawn` is told how much of the picture is there, from 0 to 1. */
  open(canvas: HTMLCanvasElement, ondrawn: (share: number) => void): StudioView;
}
