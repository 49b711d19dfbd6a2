/** Charts as SVG and PNG; PNG images have a resolution, so that programs place them in their size. */
import * as m from '../../catalog/charts';
import type { Size } from '../axes/plot-axes';
import { CanvasRenderer } from './canvas-renderer';
import { measureText, type Renderer } from './renderer';
import { SvgRenderer } from './svg-renderer';

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

const MM_PER_INCH = 25.4;
/** Signature and header chunk of a PNG; other chunks follow. */
const HEADER_BYTES = 8 + 25;

export interface RasterFormat {
  readonly widthMm: number;
  readonly heightMm: number;
  readonly dpi: number;
}

/** Draw an SVG into a PNG. */
export async function rasterizeSvg(
  svg: string,
  { widthMm, heightMm, dpi }: RasterFormat,
): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const [width, height] = [widthMm, heightMm].map((mm) => Math.round((mm / MM_PER_INCH) * dpi)) as [
    number,
    number,
  ];
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext('2d')?.drawImage(image, 0, 0, width, height);
  const png = await canvas.convertToBlob({ type: 'image/png' });
  const bytes = setPngResolution(new Uint8Array(await png.arrayBuffer()), dpi);
  return new Blob([bytes], { type: 'image/png' });
}

/** Return a PNG with a chunk that states its resolution (pHYs). */
export function setPngResolution(png: Uint8Array, dpi: number): Uint8Array<ArrayBuffer> {
  const chunk = new Uint8Array(21);
  const view = new DataView(chunk.buffer);
  const perMeter = Math.round((dpi * 1000) / MM_PER_INCH);
  view.setUint32(0, 9);
  chunk.set(new TextEncoder().encode('pHYs'), 4);
  view.setUint32(8, perMeter);
  view.setUint32(12, perMeter);
  view.setUint8(16, 1); // per meter
  view.setUint32(17, computeCrc32(chunk.subarray(4, 17)));
  const result = new Uint8Array(png.length + chunk.length);
  result.set(png.subarray(0, HEADER_BYTES));
  result.set(chunk, HEADER_BYTES);
  result.set(png.subarray(HEADER_BYTES), HEADER_BYTES + chunk.length);
  return result;
}

function computeCrc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
