import { Columns } from './columns';
import { fontOf } from './pen';
import type { Box, Dot, Edges, Fill, Lettering, Path, Pen, Point, Stroke } from './pen';
import { canvasOf, type Raster } from './raster';

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/**
 * Draws on a canvas, in pixels of the page whatever those of the screen are.
 *
 * Where there is no graphics card, lines of one pixel are 10 to 20 times faster than wider ones and
 * than filled areas. So a line of up to two pixels is two fine ones side by side, which looks the
 * same, and an area is a fine line in each column of pixels.
 */
export class CanvasPen implements Pen {
  readonly #context: Context;
  readonly #fine: number;

  /** `density` is how many pixels of the screen one of the page has. */
  constructor(context: Context, density: number) {
    this.#context = context;
    this.#fine = 1 / density;
    context.lineJoin = 'bevel';
  }

  stroke(path: Path, { colour, width, opacity = 1, dash }: Stroke): void {
    const context = this.#context;
    context.strokeStyle = colour;
    context.globalAlpha = opacity;
    context.setLineDash(dash ? [...dash] : []);
    const isDouble = opacity === 1 && width > this.#fine && width <= 2 * this.#fine;
    context.lineWidth = isDouble ? this.#fine : Math.max(width, this.#fine);
    const offset = isDouble ? (width - this.#fine) / 2 : 0;
    trace(context, path, offset);
    context.stroke();
    if (!isDouble) return;
    trace(context, path, -offset);
    context.stroke();
  }

  area(edges: Edges, { colour, opacity = 1 }: Fill): void {
    const context = this.#context;
    const columns = new Columns(context.canvas.width, this.#fine);
    columns.add(edges);
    context.strokeStyle = colour;
    context.globalAlpha = opacity;
    context.lineWidth = this.#fine;
    context.setLineDash([]);
    trace(context, columns.toPath(), 0);
    context.stroke();
  }

  fill(path: Path, { colour, opacity = 1 }: Fill): void {
    const context = this.#context;
    context.fillStyle = colour;
    context.globalAlpha = opacity;
    trace(context, path, 0);
    context.fill();
  }

  dot(x: number, y: number, radius: number, { colour, ring }: Dot): void {
    const context = this.#context;
    context.globalAlpha = 1;
    context.setLineDash([]);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = colour;
    context.fill();
    if (ring === undefined) return;
    context.strokeStyle = ring;
    context.lineWidth = 1.5;
    context.stroke();
  }

  box(box: Box, { colour, opacity = 1, radius = 0 }: Fill & { radius?: number }): void {
    const context = this.#context;
    context.fillStyle = colour;
    context.globalAlpha = opacity;
    context.beginPath();
    context.roundRect(box.left, box.top, box.width, box.height, radius);
    context.fill();
  }

  image(raster: Raster, { left, top, width, height }: Box): void {
    const context = this.#context;
    context.globalAlpha = 1;
    context.drawImage(canvasOf(raster), left, top, width, height);
  }

  text(text: string, x: number, y: number, style: Lettering): void {
    const context = this.#context;
    context.save();
    context.font = fontOf(style);
    context.fillStyle = style.colour;
    context.globalAlpha = 1;
    context.textAlign = style.align;
    context.textBaseline = style.baseline;
    context.translate(x, y);
    if (style.upwards) context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  }

  widthOf(text: string, style: Pick<Lettering, 'size' | 'bold'>): number {
    this.#context.font = fontOf(style);
    return this.#context.measureText(text).width;
  }

  inside(box: Box, draw: () => void): void {
    const context = this.#context;
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    draw();
    context.restore();
  }

  moved({ x, y }: Point, draw: () => void): void {
    const context = this.#context;
    context.save();
    context.translate(x, y);
    draw();
    context.restore();
  }
}

function trace(context: Context, path: Path, offset: number): void {
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
