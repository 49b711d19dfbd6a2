import * as m from '../../catalog/charts';
import { CanvasRenderer } from './canvas-renderer';
import { measureText, type Renderer } from './renderer';
import { SvgRenderer } from './svg-renderer';
import type { Size } from '../axes/plot-layout';

const EXPORT_PIXEL_RATIO = 2;

type DrawImage = (renderer: Renderer) => void;

export function renderSvg(
  { width, height }: Size,
  title: string,
  draw: DrawImage,
  measure: Renderer['measureText'] = measureText,
): string {
  const renderer = new SvgRenderer(measure);
  draw(renderer);
  return renderer.toSvg(width, height, title);
}

export async function renderPng({ width, height }: Size, draw: DrawImage): Promise<Blob> {
  const canvas = new OffscreenCanvas(
    Math.ceil(width * EXPORT_PIXEL_RATIO),
    Math.ceil(height * EXPORT_PIXEL_RATIO),
  );
  const context = canvas.getContext('2d');
  if (!context) throw new Error(m.exportErrorNoCanvas);
  context.scale(EXPORT_PIXEL_RATIO, EXPORT_PIXEL_RATIO);
  draw(new CanvasRenderer(context, EXPORT_PIXEL_RATIO));
  return canvas.convertToBlob({ type: 'image/png' });
}
