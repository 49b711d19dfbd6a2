import { FONT } from './pen';
import type { Box, Dot, Edges, Fill, Lettering, Path, Pen, Point, Stroke } from './pen';
import { canvasOf, type Raster } from './raster';

const ANCHORS = { left: 'start', center: 'middle', right: 'end' };
/** How far below its place the foot of a text stands, in parts of its size. */
const DROP = { top: 0.8, middle: 0.35, bottom: -0.2 };

const FINE = 0.75;

type WidthOf = Pen['widthOf'];

/** Collects what is drawn as the elements of an SVG file. */
export class SvgPen implements Pen {
  readonly #elements: string[] = [];
  readonly #clips = new Map<string, string>();
  readonly widthOf: WidthOf;

  /** How wide text is only a screen can tell. */
  constructor(widthOf: WidthOf) {
    this.widthOf = widthOf;
  }

  stroke(path: Path, { colour, width, opacity = 1, dash = [] }: Stroke): void {
    const d = describe(path, false);
    if (!d) return;
    const look = { fill: 'none', stroke: colour, 'stroke-width': width || FINE };
    const dashes = dash.length ? { 'stroke-dasharray': dash.join(' ') } : {};
    this.#add('path', { d, ...look, ...dashes, 'stroke-linejoin': 'round', ...faint(opacity) });
  }

  fill(path: Path, { colour, opacity = 1 }: Fill): void {
    const d = describe(path, true);
    if (d) this.#add('path', { d, fill: colour, ...faint(opacity) });
  }

  area(edges: Edges, style: Fill): void {
    for (const path of outlines(edges)) this.fill(path, style);
  }

  dot(x: number, y: number, radius: number, { colour, ring }: Dot): void {
    const edge = ring === undefined ? {} : { stroke: ring, 'stroke-width': 1.5 };
    this.#add('circle', { cx: short(x), cy: short(y), r: radius, fill: colour, ...edge });
  }

  box(box: Box, { colour, opacity = 1, radius = 0 }: Fill & { radius?: number }): void {
    const corners = radius ? { rx: radius } : {};
    this.#add('rect', { ...sidesOf(box), fill: colour, ...corners, ...faint(opacity) });
  }

  image(raster: Raster, box: Box): void {
    const href = canvasOf(raster).toDataURL('image/png');
    this.#add('image', { ...sidesOf(box), href, preserveAspectRatio: 'none' });
  }

  text(text: string, x: number, y: number, style: Lettering): void {
    const drop = short(DROP[style.baseline] * style.size);
    const turned = style.upwards ? ' rotate(-90)' : '';
    const look = {
      transform: `translate(${short(x)} ${short(y)})${turned}`,
      y: drop,
      fill: style.colour,
      'font-size': style.size,
      'text-anchor': ANCHORS[style.align],
      ...(style.bold ? { 'font-weight': 600 } : {}),
    };
    this.#elements.push(`<text${attributes(look)}>${escape(text)}</text>`);
  }

  inside(box: Box, draw: () => void): void {
    const shape = `<rect${attributes(sidesOf(box))}/>`;
    const id = this.#clips.get(shape) ?? `clip${this.#clips.size}`;
    this.#clips.set(shape, id);
    this.#elements.push(`<g clip-path="url(#${id})">`);
    draw();
    this.#elements.push('</g>');
  }

  moved({ x, y }: Point, draw: () => void): void {
    this.#elements.push(`<g transform="translate(${short(x)} ${short(y)})">`);
    draw();
    this.#elements.push('</g>');
  }

  /** The file. */
  finish(width: number, height: number, title: string): string {
    const clips = [...this.#clips].map(([shape, id]) => `<clipPath id="${id}">${shape}</clipPath>`);
    const head = { width, height, viewBox: `0 0 ${width} ${height}`, 'font-family': FONT };
    return [
      `<svg xmlns="http://www.w3.org/2000/svg"${attributes(head)}>`,
      `<title>${escape(title)}</title>`,
      `<defs>${clips.join('')}</defs>`,
      ...this.#elements,
      '</svg>\n',
    ].join('\n');
  }

  #add(name: string, values: Record<string, string | number>): void {
    this.#elements.push(`<${name}${attributes(values)}/>`);
  }
}

function describe({ points, length }: Path, closed: boolean): string {
  const parts: string[] = [];
  let isUp = true;
  for (let at = 0; at < length; at += 2) {
    const x = points[at] ?? NaN;
    if (Number.isNaN(x)) {
      isUp = true;
      continue;
    }
    if (isUp && closed && parts.length) parts.push('Z');
    parts.push(`${isUp ? 'M' : 'L'}${short(x)} ${short(points[at + 1] ?? NaN)}`);
    isUp = false;
  }
  return parts.join('') + (closed && parts.length ? 'Z' : '');
}

/** The edge of each piece of an area: along the top and back along the foot. */
function* outlines({ x, low, high, length }: Edges): Generator<Path> {
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

function sidesOf({ left, top, width, height }: Box): Record<string, number> {
  return { x: short(left), y: short(top), width: short(width), height: short(height) };
}

function faint(opacity: number): Record<string, number> {
  return opacity < 1 ? { opacity } : {};
}

function attributes(values: Record<string, string | number>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escape(String(value))}"`)
    .join('');
}

/** A tenth of a pixel is as fine as anyone sees; points far outside would only fill the file. */
function short(value: number): number {
  return Math.round(Math.max(-1e5, Math.min(1e5, value)) * 10) / 10;
}

/** Characters that no XML file may hold are left out. */
function escape(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
