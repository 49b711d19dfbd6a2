import { CanvasPen } from '../pen/canvas';
import type { Pen } from '../pen/pen';
import type { Size } from '../picture/layout';
import { LIGHT, type Palette, readPalette } from '../picture/palette';
import { onLookChange } from './look';

/** The element that a chart fills: how large it is, in which colours, and how dense its pixels. */
export class Stage {
  size = $state.raw<Size>({ width: 0, height: 0 });
  palette = $state.raw<Palette>(LIGHT);
  density = $state(1);

  /** Follows an element; returns how to let go of it. */
  watch(element: HTMLElement): () => void {
    const sized = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = element;
      if (width !== this.size.width || height !== this.size.height) this.size = { width, height };
    });
    const look = (): void => {
      this.palette = readPalette(element);
      this.density = devicePixelRatio;
    };
    look();
    sized.observe(element);
    const unlook = onLookChange(look);
    return () => {
      sized.disconnect();
      unlook();
    };
  }
}

/** Draws on an empty canvas, sharp at any density. */
export function paint(
  canvas: HTMLCanvasElement,
  { width, height }: Size,
  density: number,
  draw: (pen: Pen) => void,
): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  const [across, down] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, across, down);
  context.setTransform(density, 0, 0, density, 0, 0);
  draw(new CanvasPen(context, density));
}
