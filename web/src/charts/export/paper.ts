import { CanvasPen } from '../pen/canvas';
import { widthOf } from '../pen/measure';
import type { Pen } from '../pen/pen';
import { SvgPen } from '../pen/svg';
import type { Size } from '../picture/layout';

/** So many pixels has one of the page in a picture that is taken away. */
const DENSITY = 2;

type Draw = (pen: Pen) => void;

/** What is drawn, as a file. */
export function drawSvg(
  { width, height }: Size,
  title: string,
  draw: Draw,
  measure: Pen['widthOf'] = widthOf,
): string {
  const pen = new SvgPen(measure);
  draw(pen);
  return pen.finish(width, height, title);
}

export async function drawPng({ width, height }: Size, draw: Draw): Promise<Blob> {
  const canvas = new OffscreenCanvas(Math.ceil(width * DENSITY), Math.ceil(height * DENSITY));
  const context = canvas.getContext('2d');
  if (!context) throw new Error('this browser gives no more canvases');
  context.scale(DENSITY, DENSITY);
  draw(new CanvasPen(context, DENSITY));
  return canvas.convertToBlob({ type: 'image/png' });
}
