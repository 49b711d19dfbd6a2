/**
 * Charts as SVG and PNG; PNG images have a resolution, so that programs place them in their size.
 */
import * as m from '../../catalog/charts';
import type { Size } from '../axes/plot-axes';
import {
  type AreaEdges,
  CanvasRenderer,
  type DotStyle,
  type FillStyle,
  FONT_FAMILY,
  getRasterCanvas,
  measureText,
  type Path,
  type Point,
  type Raster,
  type Rect,
  type Renderer,
  type StrokeStyle,
  type TextStyle,
} from './renderer';

const ANCHORS = { left: 'start', center: 'middle', right: 'end' };
/** Vertical offset of the baseline, as a fraction of the font size. */
const BASELINE_SHIFT = { top: 0.8, middle: 0.35, bottom: -0.2 };

const HAIRLINE_WIDTH = 0.75;

type MeasureText = Renderer['measureText'];

/** Draws into an SVG document. */
export class SvgRenderer implements Renderer {
  readonly #elements: string[] = [];
  readonly #clips = new Map<string, string>();
  readonly measureText: MeasureText;

  constructor(measure: MeasureText) {
    this.measureText = measure;
  }

  stroke(path: Path, { color, width, opacity = 1, dash = [] }: StrokeStyle): void {
    const d = formatPath(path, false);
    if (!d) return;
    const look = { fill: 'none', stroke: color, 'stroke-width': width || HAIRLINE_WIDTH };
    const dashes = dash.length ? { 'stroke-dasharray': dash.join(' ') } : {};
    this.#add('path', {
      d,
      ...look,
      ...dashes,
      'stroke-linejoin': 'round',
      ...makeOpacityAttribute(opacity),
    });
  }

  fill(path: Path, { color, opacity = 1 }: FillStyle): void {
    const d = formatPath(path, true);
    if (d) this.#add('path', { d, fill: color, ...makeOpacityAttribute(opacity) });
  }

  area(edges: AreaEdges, style: FillStyle): void {
    for (const path of iterOutlines(edges)) this.fill(path, style);
  }

  dot(x: number, y: number, radius: number, { color, ring }: DotStyle): void {
    const edge = ring === undefined ? {} : { stroke: ring, 'stroke-width': 1.5 };
    this.#add('circle', {
      cx: roundCoordinate(x),
      cy: roundCoordinate(y),
      r: radius,
      fill: color,
      ...edge,
    });
  }

  rect(box: Rect, { color, opacity = 1, radius = 0 }: FillStyle & { radius?: number }): void {
    const corners = radius ? { rx: radius } : {};
    this.#add('rect', {
      ...makeRectAttributes(box),
      fill: color,
      ...corners,
      ...makeOpacityAttribute(opacity),
    });
  }

  image(raster: Raster, box: Rect): void {
    const href = getRasterCanvas(raster).toDataURL('image/png');
    this.#add('image', { ...makeRectAttributes(box), href, preserveAspectRatio: 'none' });
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const drop = roundCoordinate(BASELINE_SHIFT[style.baseline] * style.size);
    const turned = style.vertical ? ' rotate(-90)' : '';
    const look = {
      transform: `translate(${roundCoordinate(x)} ${roundCoordinate(y)})${turned}`,
      y: drop,
      fill: style.color,
      'font-size': style.size,
      'text-anchor': ANCHORS[style.align],
      ...(style.bold ? { 'font-weight': 600 } : {}),
    };
    this.#elements.push(`<text${formatAttributes(look)}>${escapeXml(text)}</text>`);
  }

  clip(box: Rect, draw: () => void): void {
    const shape = `<rect${formatAttributes(makeRectAttributes(box))}/>`;
    const id = this.#clips.get(shape) ?? `clip${this.#clips.size}`;
    this.#clips.set(shape, id);
    this.#elements.push(`<g clip-path="url(#${id})">`);
    draw();
    this.#elements.push('</g>');
  }

  translate({ x, y }: Point, draw: () => void): void {
    this.#elements.push(`<g transform="translate(${roundCoordinate(x)} ${roundCoordinate(y)})">`);
    draw();
    this.#elements.push('</g>');
  }

  /** Return the SVG document; `attributes` replace those of its root. */
  toSvg(
    width: number,
    height: number,
    title: string,
    attributes: Readonly<Record<string, string>> = {},
  ): string {
    const clips = [...this.#clips].map(([shape, id]) => `<clipPath id="${id}">${shape}</clipPath>`);
    const head = {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      'font-family': FONT_FAMILY,
      ...attributes,
    };
    return [
      `<svg xmlns="http://www.w3.org/2000/svg"${formatAttributes(head)}>`,
      `<title>${escapeXml(title)}</title>`,
      `<defs>${clips.join('')}</defs>`,
      ...this.#elements,
      '</svg>\n',
    ].join('\n');
  }

  #add(name: string, values: Record<string, string | number>): void {
    this.#elements.push(`<${name}${formatAttributes(values)}/>`);
  }
}

function formatPath({ points, length }: Path, closed: boolean): string {
  const parts: string[] = [];
  let isUp = true;
  for (let at = 0; at < length; at += 2) {
    const x = points[at] ?? NaN;
    if (Number.isNaN(x)) {
      isUp = true;
      continue;
    }
    if (isUp && closed && parts.length) parts.push('Z');
    parts.push(
      `${isUp ? 'M' : 'L'}${roundCoordinate(x)} ${roundCoordinate(points[at + 1] ?? NaN)}`,
    );
    isUp = false;
  }
  return parts.join('') + (closed && parts.length ? 'Z' : '');
}

/** Return the closed outline of each part of an area. */
function* iterOutlines({ x, low, high, length }: AreaEdges): Generator<Path> {
  let begin = 0;
  for (let end = 0; end <= length; end++) {
    if (end < length && !Number.isNaN((low[end] ?? NaN) + (high[end] ?? NaN))) continue;
    const points: number[] = [];
    for (let at = begin; at < end; at++) points.push(x[at] ?? NaN, high[at] ?? NaN);
    for (let at = end - 1; at >= begin; at--) points.push(x[at] ?? NaN, low[at] ?? NaN);
    if (points.length) yield { points: Float32Array.from(points), length: points.length };
    begin = end + 1;
  }
}

function makeRectAttributes({ left, top, width, height }: Rect): Record<string, number> {
  return {
    x: roundCoordinate(left),
    y: roundCoordinate(top),
    width: roundCoordinate(width),
    height: roundCoordinate(height),
  };
}

function makeOpacityAttribute(opacity: number): Record<string, number> {
  return opacity < 1 ? { opacity } : {};
}

function formatAttributes(values: Record<string, string | number>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
    .join('');
}

/** Round to a tenth of a pixel and clamp points far outside. */
function roundCoordinate(value: number): number {
  return Math.round(Math.max(-1e5, Math.min(1e5, value)) * 10) / 10;
}

/** Escape text; characters that are invalid in XML are removed. */
function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

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

interface RasterFormat {
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
