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

/** The vertical extent of an area in each pixel column. */
export class PixelColumns {
  readonly #low: Float32Array;
  readonly #high: Float32Array;
  /** Width of a column. */
  readonly #wide: number;

  constructor(count: number, wide: number) {
    this.#low = new Float32Array(count).fill(NaN);
    this.#high = new Float32Array(count).fill(NaN);
    this.#wide = wide;
  }

  add({ x, low, high, length }: AreaEdges): void {
    for (let at = 0; at < length; at++) {
      const from = (x[at] ?? NaN) / this.#wide;
      const to = at + 1 < length ? (x[at + 1] ?? NaN) / this.#wide : NaN;
      this.#cover(Math.floor(from), low[at] ?? NaN, high[at] ?? NaN);
      const isGap = Number.isNaN((low[at] ?? NaN) + (low[at + 1] ?? NaN));
      if (to - from > 0 && !isGap) this.#addPiece(at, from, to, low, high);
    }
  }

  /** Add the columns between two points, interpolated linearly. */
  #addPiece(at: number, from: number, to: number, low: Float32Array, high: Float32Array): void {
    const slope = (edge: Float32Array): number =>
      ((edge[at + 1] ?? NaN) - (edge[at] ?? NaN)) / (to - from);
    const [down, up] = [slope(low), slope(high)];
    const last = Math.min(this.#low.length - 1, Math.floor(to));
    for (let column = Math.max(0, Math.floor(from)); column <= last; column++) {
      const begin = Math.max(from, column) - from;
      const end = Math.min(to, column + 1) - from;
      for (const along of [begin, end])
        this.#cover(column, (low[at] ?? NaN) + down * along, (high[at] ?? NaN) + up * along);
    }
  }

  #cover(column: number, low: number, high: number): void {
    if (!(column >= 0 && column < this.#low.length) || Number.isNaN(low + high)) return;
    const [least, most] = low < high ? [low, high] : [high, low];
    if (!((this.#low[column] ?? NaN) <= least)) this.#low[column] = least;
    if (!((this.#high[column] ?? NaN) >= most)) this.#high[column] = most;
  }

  /** Return a vertical line in the center of each column. */
  toPath(): Path {
    const points = new Float32Array(6 * this.#low.length);
    let length = 0;
    for (let column = 0; column < this.#low.length; column++) {
      const low = this.#low[column] ?? NaN;
      if (Number.isNaN(low)) continue;
      const x = (column + 0.5) * this.#wide;
      points.set([x, low, x, this.#high[column] ?? NaN, NaN, NaN], length);
      length += 6;
    }
    return { points, length };
  }
}

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/**
 * Draws on a canvas in CSS pixels. Without a GPU, lines of one device pixel are 10 to 20 times
 * faster than wider lines and filled areas. So a line of up to two pixels is drawn as two thin ones
 * next to each other, which looks the same, and an area as a thin line per pixel column.
 */
export class CanvasRenderer implements Renderer {
  readonly #context: Context;
  readonly #fine: number;

  constructor(context: Context, pixelRatio: number) {
    this.#context = context;
    this.#fine = 1 / pixelRatio;
    context.lineJoin = 'bevel';
  }

  stroke(path: Path, { color, width, opacity = 1, dash }: StrokeStyle): void {
    const context = this.#context;
    context.strokeStyle = color;
    context.globalAlpha = opacity;
    context.setLineDash(dash ? [...dash] : []);
    const isDouble = opacity === 1 && width > this.#fine && width <= 2 * this.#fine;
    context.lineWidth = isDouble ? this.#fine : Math.max(width, this.#fine);
    const offset = isDouble ? (width - this.#fine) / 2 : 0;
    tracePath(context, path, offset);
    context.stroke();
    if (!isDouble) return;
    tracePath(context, path, -offset);
    context.stroke();
  }

  area(edges: AreaEdges, { color, opacity = 1 }: FillStyle): void {
    const context = this.#context;
    const columns = new PixelColumns(context.canvas.width, this.#fine);
    columns.add(edges);
    context.strokeStyle = color;
    context.globalAlpha = opacity;
    context.lineWidth = this.#fine;
    context.setLineDash([]);
    tracePath(context, columns.toPath(), 0);
    context.stroke();
  }

  fill(path: Path, { color, opacity = 1 }: FillStyle): void {
    const context = this.#context;
    context.fillStyle = color;
    context.globalAlpha = opacity;
    tracePath(context, path, 0);
    context.fill();
  }

  dot(x: number, y: number, radius: number, { color, ring }: DotStyle): void {
    const context = this.#context;
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = color;
    context.fill();
    if (ring === undefined) return;
    context.strokeStyle = ring;
    context.lineWidth = 1.5;
    context.stroke();
  }

  rect(box: Rect, { color, opacity = 1, radius = 0 }: FillStyle & { radius?: number }): void {
    const context = this.#context;
    context.fillStyle = color;
    context.globalAlpha = opacity;
    context.beginPath();
    context.roundRect(box.left, box.top, box.width, box.height, radius);
    context.fill();
  }

  image(raster: Raster, { left, top, width, height }: Rect): void {
    const context = this.#context;
    context.globalAlpha = 1;
    context.drawImage(getRasterCanvas(raster), left, top, width, height);
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const context = this.#context;
    context.save();
    context.font = makeFont(style);
    context.fillStyle = style.color;
    context.globalAlpha = 1;
    context.textAlign = style.align;
    context.textBaseline = style.baseline;
    context.translate(x, y);
    if (style.vertical) context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  }

  measureText(text: string, style: Pick<TextStyle, 'size' | 'bold'>): number {
    this.#context.font = makeFont(style);
    return this.#context.measureText(text).width;
  }

  clip(box: Rect, draw: () => void): void {
    const context = this.#context;
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    draw();
    context.restore();
  }

  translate({ x, y }: Point, draw: () => void): void {
    const context = this.#context;
    context.save();
    context.translate(x, y);
    draw();
    context.restore();
  }
}

function tracePath(context: Context, path: Path, offset: number): void {
  const { points, length } = path;
  context.beginPath();
  let isUp = true;
  for (let at = 0; at < length; at += 2) {
    const x = (points[at] ?? NaN) + offset;
    const y = (points[at + 1] ?? NaN) + offset;
    if (Number.isNaN(x)) isUp = true;
    else if (isUp) {
      isUp = false;
      context.moveTo(x, y);
    } else context.lineTo(x, y);
  }
}
