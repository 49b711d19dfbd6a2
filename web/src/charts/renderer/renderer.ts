/** RGBA pixels in rows from the top. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** Canvases of rasters, created once. */
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

/** Measure the width of text in pixels. */
export const measureText: Renderer['measureText'] = (text, style) => {
  measuringContext ??= document.createElement('canvas').getContext('2d');
  if (!measuringContext) return text.length * style.size * 0.55;
  measuringContext.font = makeFont(style);
  return measuringContext.measureText(text).width;
};

/** Drawing commands of charts, with implementations for canvas and SVG. */
export interface Renderer {
  /** Draw a polyline. */
  stroke(path: Path, style: StrokeStyle): void;
  /** Fill a polygon. */
  fill(path: Path, style: FillStyle): void;
  /** Fill the area between two curves. */
  area(edges: AreaEdges, style: FillStyle): void;
  dot(x: number, y: number, radius: number, style: DotStyle): void;
  rect(box: Rect, style: FillStyle & { readonly radius?: number }): void;
  /** Draw a raster, stretched to the rectangle. */
  image(raster: Raster, box: Rect): void;
  text(text: string, x: number, y: number, style: TextStyle): void;
  measureText(text: string, style: Pick<TextStyle, 'size' | 'bold'>): number;
  /** Clip everything that `draw` draws. */
  clip(box: Rect, draw: () => void): void;
  /** Translate everything that `draw` draws. */
  translate(by: Point, draw: () => void): void;
}

/** Points x0, y0, x1, y1, …; a NaN pair starts a new subpath. */
export interface Path {
  readonly points: Float32Array;
  /** Number of used elements of `points`. */
  readonly length: number;
}

/** Two curves over sorted x; NaN is a gap. */
export interface AreaEdges {
  readonly x: Float32Array;
  readonly low: Float32Array;
  readonly high: Float32Array;
  /** Number of used elements of each array. */
  readonly length: number;
}

export interface StrokeStyle {
  readonly color: string;
  /** 0 is a hairline. */
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
  /** Color of an outline that separates the dot from lines below. */
  readonly ring?: string;
}

export interface TextStyle {
  readonly color: string;
  readonly size: number;
  readonly bold?: boolean;
  readonly align: 'left' | 'center' | 'right';
  readonly baseline: 'top' | 'middle' | 'bottom';
  /** Rotated by 90° counterclockwise. */
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

/** Return a rectangle with a margin around it. */
export function expandRect({ left, top, width, height }: Rect, margin: number): Rect {
  return {
    left: left - margin,
    top: top - margin,
    width: width + 2 * margin,
    height: height + 2 * margin,
  };
}

export const FONT_FAMILY = "system-ui, 'Segoe UI', Roboto, sans-serif";

export function makeFont({ size, bold }: Pick<TextStyle, 'size' | 'bold'>): string {
  return `${bold ? '600 ' : ''}${size}px ${FONT_FAMILY}`;
}

export function makePath(...points: number[]): Path {
  return { points: Float32Array.from(points), length: points.length };
}

/** Colors of axes, labels and overlays, as CSS colors for a canvas. */
export interface ChartTheme {
  readonly background: string;
  readonly grid: string;
  readonly axis: string;
  readonly crosshair: string;
  readonly label: string;
  readonly text: string;
  readonly accent: string;
  readonly error: string;
}

/** Exported images are always light. */
export const LIGHT_THEME: ChartTheme = {
  background: '#ffffff',
  grid: '#efeff3',
  axis: '#d5d5dd',
  crosshair: '#a3a3af',
  label: '#6e6e79',
  text: '#1c1c22',
  accent: '#4f46e5',
  error: '#c0262d',
};

const TOKENS: Record<keyof ChartTheme, string> = {
  background: 'var(--raise)',
  grid: 'color-mix(in srgb, var(--line) 65%, var(--raise))',
  axis: 'var(--line-strong)',
  crosshair: 'color-mix(in srgb, var(--faint) 65%, var(--raise))',
  label: 'var(--faint)',
  text: 'var(--text)',
  accent: 'var(--accent)',
  error: 'var(--bad)',
};

/**
 * Read the theme at an element. Tokens use `light-dark()`, which is resolved only in color
 * properties, so a temporary element is styled with each of them.
 */
export function readChartTheme(element: HTMLElement): ChartTheme {
  const probe = element.appendChild(document.createElement('i'));
  probe.hidden = true;
  const look = getComputedStyle(probe);
  const tried = Object.entries(TOKENS).map(([name, token]) => {
    probe.style.color = token;
    return [name, look.color];
  });
  probe.remove();
  return Object.fromEntries(tried) as Record<keyof ChartTheme, string>;
}
