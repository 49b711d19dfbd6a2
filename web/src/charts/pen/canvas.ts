import { type Box, type Dot, type Fill, fontOf, type Lettering, type Path } from './pen';
import type { Pen, Stroke } from './pen';

/** Draws on a canvas, in pixels of the page whatever those of the screen are. */
export class CanvasPen implements Pen {
  readonly #context: CanvasRenderingContext2D;

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  stroke(path: Path, { colour, width, opacity = 1, dash }: Stroke): void {
    const context = this.#context;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.globalAlpha = opacity;
    context.lineJoin = 'bevel';
    context.setLineDash(dash ? [...dash] : []);
    trace(context, path);
    context.stroke();
  }

  fill(path: Path, { colour, opacity = 1 }: Fill): void {
    const context = this.#context;
    context.fillStyle = colour;
    context.globalAlpha = opacity;
    trace(context, path);
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
}

function trace(context: CanvasRenderingContext2D, { points, length }: Path): void {
  context.beginPath();
  let isUp = true;
  for (let at = 0; at < length; at += 2) {
    const x = points[at] ?? NaN;
    if (Number.isNaN(x)) isUp = true;
    else if (isUp) {
      isUp = false;
      context.moveTo(x, points[at + 1] ?? NaN);
    } else context.lineTo(x, points[at + 1] ?? NaN);
  }
}
