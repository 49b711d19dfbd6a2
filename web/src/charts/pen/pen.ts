import type { Raster } from './raster';

/**
 * What charts are drawn with. The code that draws is written once; a pen puts it on a canvas or
 * into an SVG file.
 */
export interface Pen {
  /** A line through points. */
  stroke(path: Path, style: Stroke): void;
  /** A shape with points on its edge. */
  fill(path: Path, style: Fill): void;
  /** The area between two curves. */
  area(edges: Edges, style: Fill): void;
  dot(x: number, y: number, radius: number, style: Dot): void;
  box(box: Box, style: Fill & { readonly radius?: number }): void;
  /** Pixels, stretched over the box. */
  image(raster: Raster, box: Box): void;
  text(text: string, x: number, y: number, style: Lettering): void;
  widthOf(text: string, style: Pick<Lettering, 'size' | 'bold'>): number;
  /** Nothing that `draw` draws leaves the box. */
  inside(box: Box, draw: () => void): void;
  /** All that `draw` draws stands so far to the right and down. */
  moved(by: Point, draw: () => void): void;
}

/** Points x0, y0, x1, y1, …; a pair of NaN lifts the pen. */
export interface Path {
  readonly points: Float32Array;
  /** How many numbers of `points` count. */
  readonly length: number;
}

/** Two curves over rising x; NaN in any of them leaves a gap. */
export interface Edges {
  readonly x: Float32Array;
  readonly low: Float32Array;
  readonly high: Float32Array;
  /** How many numbers of each count. */
  readonly length: number;
}

export interface Stroke {
  readonly colour: string;
  /** 0 is the finest line there is. */
  readonly width: number;
  readonly opacity?: number;
  readonly dash?: readonly number[];
}

export interface Fill {
  readonly colour: string;
  readonly opacity?: number;
}

export interface Dot {
  readonly colour: string;
  /** A ring around the dot that sets it off from lines below. */
  readonly ring?: string;
}

export interface Lettering {
  readonly colour: string;
  readonly size: number;
  readonly bold?: boolean;
  readonly align: 'left' | 'center' | 'right';
  readonly baseline: 'top' | 'middle' | 'bottom';
  /** Written upwards, turned around its place. */
  readonly upwards?: boolean;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** A box with room around it. */
export function around({ left, top, width, height }: Box, room: number): Box {
  return { left: left - room, top: top - room, width: width + 2 * room, height: height + 2 * room };
}

export const FONT = "system-ui, 'Segoe UI', Roboto, sans-serif";

export function fontOf({ size, bold }: Pick<Lettering, 'size' | 'bold'>): string {
  return `${bold ? '600 ' : ''}${size}px ${FONT}`;
}

export function pathOf(...points: number[]): Path {
  return { points: Float32Array.from(points), length: points.length };
}
