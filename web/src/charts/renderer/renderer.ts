/** A picture made of pixels: red, green, blue and alpha of each, row by row from the top. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** A raster is put on a canvas once, however often it is drawn. */
const rasterCanvases = new WeakMap<Raster, HTMLCanvasElement>();

export function getRasterCanvas(raster: Raster): HTMLCanvasElement {
  const known = rasterCanvases.get(raster);
  if (known) return known;
  const canvas = document.createElement('canvas');
  canvas.width = raster.width;
  canvas.height = raster.height;
  const image = new ImageData(raster.pixels, raster.width, raster.height);
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  rasterCanvases.set(raster, canvas);
  return canvas;
}

let measuringContext: CanvasRenderingContext2D | null = null;

/** How wide text is on this machine. */
export const measureText: Renderer['measureText'] = (text, style) => {
  measuringContext ??= document.createElement('canvas').getContext('2d');
  if (!measuringContext) return text.length * style.size * 0.55;
  measuringContext.font = makeFont(style);
  return measuringContext.measureText(text).width;
};

/**
 * What charts are drawn with. The code that draws is written once; a pen puts it on a canvas or
 * into an SVG file.
 */
export interface Renderer {
  /** A line through points. */
  stroke(path: Path, style: StrokeStyle): void;
  /** A shape with points on its edge. */
  fill(path: Path, style: FillStyle): void;
  /** The area between two curves. */
  area(edges: AreaEdges, style: FillStyle): void;
  dot(x: number, y: number, radius: number, style: DotStyle): void;
  rect(box: Rect, style: FillStyle & { readonly radius?: number }): void;
  /** Pixels, stretched over the box. */
  image(raster: Raster, box: Rect): void;
  text(text: string, x: number, y: number, style: TextStyle): void;
  measureText(text: string, style: Pick<TextStyle, 'size' | 'bold'>): number;
  /** Nothing that `draw` draws leaves the box. */
  clip(box: Rect, draw: () => void): void;
  /** All that `draw` draws stands so far to the right and down. */
  translate(by: Point, draw: () => void): void;
}

/** Points x0, y0, x1, y1, …; a pair of NaN lifts the pen. */
export interface Path {
  readonly points: Float32Array;
  /** How many numbers of `points` count. */
  readonly length: number;
}

/** Two curves over rising x; NaN in any of them leaves a gap. */
export interface AreaEdges {
  readonly x: Float32Array;
  readonly low: Float32Array;
  readonly high: Float32Array;
  /** How many numbers of each count. */
  readonly length: number;
}

export interface StrokeStyle {
  readonly color: string;
  /** 0 is the finest line there is. */
  readonly width: number;
  readonly opacity?: number;
  readonly dash?: readonly number[];
}

export interface FillStyle {
  readonly color: string;
  readonly opacity?: number;
}

export interface DotStyle {
  readonly color: string;
  /** A ring around the dot that sets it off from lines below. */
  readonly ring?: string;
}

export interface TextStyle {
  readonly color: string;
  readonly size: number;
  readonly bold?: boolean;
  readonly align: 'left' | 'center' | 'right';
  readonly baseline: 'top' | 'middle' | 'bottom';
  /** Written upwards, turned around its place. */
  readonly vertical?: boolean;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Rect {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** A box with room around it. */
export function expandRect({ left, top, width, height }: Rect, room: number): Rect {
  return { left: left - room, top: top - room, width: width + 2 * room, height: height + 2 * room };
}

export const FONT_FAMILY = "system-ui, 'Segoe UI', Roboto, sans-serif";

export function makeFont({ size, bold }: Pick<TextStyle, 'size' | 'bold'>): string {
  return `${bold ? '600 ' : ''}${size}px ${FONT_FAMILY}`;
}

export function makePath(...points: number[]): Path {
  return { points: Float32Array.from(points), length: points.length };
}
