import type { Lens, Orbit } from '../../../charts/space/orbit';

/** Where points are: `x y z` of each, within about one radius of the middle. */
export interface Places {
  readonly count: number;
  readonly now: Float32Array;
  /** Where they come from; null where they do not move. */
  readonly before: Float32Array | null;
}

/** Pictures of points on one sheet, from the upper left, row by row. */
export interface Sheet {
  readonly image: ImageBitmap | HTMLImageElement;
  /** The point whose picture is the first, and how many there are. */
  readonly first: number;
  readonly count: number;
  readonly columns: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
}

/** How each point looks. */
export interface Dress {
  /** Red, green, blue, and how much of it is seen: 0 for a hidden one, 255 for one that stands out. */
  readonly colour: Uint8Array;
  /** From 0 to 255 as a share of the largest; null where all are alike. */
  readonly size: Uint8Array | null;
}

/** All that the picture depends on. */
export interface Shown {
  readonly places: Places;
  /** How far points are on their way, from 0 to 1. */
  readonly way: number;
  readonly dress: Dress;
  readonly sheets: readonly Sheet[];
  readonly orbit: Orbit;
  readonly lens: Lens;
  /** In pixels of the page. */
  readonly pointSize: number;
  /** Points let each other through, so that many are darker than few. */
  readonly isDense: boolean;
  /** What is further away is paler. */
  readonly isDeep: boolean;
  readonly paper: string;
  readonly width: number;
  readonly height: number;
  /** While something moves, being quick is more than being complete. */
  readonly isMoving: boolean;
}

/** Draws points on a canvas. */
export interface Painter {
  readonly isSoftware: boolean;
  show(shown: Shown): void;
  /** The picture, once all of it is there. */
  photograph(): Promise<HTMLCanvasElement>;
  close(): void;
}
