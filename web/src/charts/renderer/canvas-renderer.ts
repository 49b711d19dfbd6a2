import {
  type AreaEdges,
  type DotStyle,
  type FillStyle,
  getRasterCanvas,
  makeFont,
  type Path,
  type Point,
  type Raster,
  type Rect,
  type Renderer,
  type StrokeStyle,
  type TextStyle,
} from './renderer';

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
