import { CanvasRenderer } from './canvas-renderer';
import { measureText, type Renderer } from './renderer';
import { SvgRenderer } from './svg-renderer';
import type { Size } from '../axes/plot-layout';

/** So many pixels has one of the page in a picture that is taken away. */
const EXPORT_PIXEL_RATIO = 2;

type DrawImage = (pen: Renderer) => void;

/** What is drawn, as a file. */
export function renderSvg(
  { width, height }: Size,
  title: string,
  draw: DrawImage,
  measure: Renderer['measureText'] = measureText,
): string {
  const pen = new SvgRenderer(measure);
  draw(pen);
  return pen.toSvg(width, height, title);
}

export async function renderPng({ width, height }: Size, draw: DrawImage): Promise<Blob> {
  const canvas = new OffscreenCanvas(
    Math.ceil(width * EXPORT_PIXEL_RATIO),
    Math.ceil(height * EXPORT_PIXEL_RATIO),
  );
  const context = canvas.getContext('2d');
  if (!context) throw new Error('this browser gives no more canvases');
  context.scale(EXPORT_PIXEL_RATIO, EXPORT_PIXEL_RATIO);
  draw(new CanvasRenderer(context, EXPORT_PIXEL_RATIO));
  return canvas.convertToBlob({ type: 'image/png' });
}
