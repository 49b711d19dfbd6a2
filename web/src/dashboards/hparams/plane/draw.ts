import { channelsOf } from '../../../charts/colour/ramp';
import { type Box, pathOf, type Pen } from '../../../charts/pen/pen';
import type { Raster } from '../../../charts/pen/raster';
import type { Palette } from '../../../charts/picture/palette';
import type { Axis } from '../model/axis';
import type { Ink } from '../model/ink';
import { acrossOf, downOf, type Places } from './layout';

/** The points of a plane. */
export interface Dots {
  readonly places: Places;
  readonly ink: Ink;
  readonly colours: readonly string[];
  readonly passing: Uint8Array;
  /** Of those that do not pass. */
  readonly pale: string;
  /** Sets dots off from a picture below them. */
  readonly ring?: string | undefined;
}

/** More dots than this are drawn as pixels. */
const MANY = 1500;
const LABEL_SIZE = 10.5;
const NAME_HEIGHT = 15;
/** Room beside the frame that a word may reach into. */
const RIGHT = 10;

export function drawDots(pen: Pen, frame: Box, dots: Dots): void {
  const { ink, passing } = dots;
  const others = ink.order.filter((row) => !passing[row]);
  const chosen = ink.order.filter((row) => passing[row] === 1);
  if (ink.order.length > MANY) {
    const raster = rasterOf(frame, dots, [others, chosen]);
    return pen.image(raster, { ...frame, width: raster.width, height: raster.height });
  }
  const radius = ink.order.length < 120 ? 4 : 2.6;
  for (const row of others) dot(pen, frame, dots, row, radius - 1, dots.pale);
  for (const row of chosen)
    dot(pen, frame, dots, row, radius, dots.colours[ink.levels[row] ?? 0] ?? '');
}

function dot(
  pen: Pen,
  frame: Box,
  { places, ring }: Dots,
  row: number,
  radius: number,
  colour: string,
): void {
  const [x, y] = [places.x[row] ?? NaN, places.y[row] ?? NaN];
  if (Number.isNaN(x + y)) return;
  const look = ring === undefined ? { colour } : { colour, ring };
  pen.dot(acrossOf(frame, x), downOf(frame, y), radius, look);
}

/** Squares of two pixels, those that pass above the others. */
function rasterOf(frame: Box, dots: Dots, layers: readonly Int32Array[]): Raster {
  const [width, height] = [Math.round(frame.width) + 1, Math.round(frame.height) + 1];
  const pixels = new Uint8ClampedArray(4 * width * height);
  const words = new Uint32Array(pixels.buffer);
  const [pale, inks] = [wordOf(dots.pale), dots.colours.map(wordOf)];
  layers.forEach((rows, layer) => {
    for (const row of rows) {
      const [x, y] = [dots.places.x[row] ?? NaN, dots.places.y[row] ?? NaN];
      if (Number.isNaN(x + y)) continue;
      const word = layer === 0 ? pale : (inks[dots.ink.levels[row] ?? 0] ?? pale);
      const at = Math.floor((1 - y) * (height - 2)) * width + Math.floor(x * (width - 2));
      words[at] = words[at + 1] = words[at + width] = words[at + width + 1] = word;
    }
  });
  return { width, height, pixels };
}

/** A colour as one number, in the order of bytes that all present machines have. */
function wordOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** A line through places on the plane. */
export function drawLine(
  pen: Pen,
  frame: Box,
  line: readonly (readonly [number, number])[],
  colour: string,
): void {
  const points = line.flatMap(([x, y]) => [acrossOf(frame, x), downOf(frame, y)]);
  // Wider than what a pen doubles, so that it stands out among dots.
  pen.stroke(pathOf(...points), { colour, width: 2.5 });
}

/** The axes; a grid only where nothing lies below the dots. */
export function drawFrame(
  pen: Pen,
  frame: Box,
  x: Axis,
  y: Axis,
  palette: Palette,
  { words, grid }: { readonly words: boolean; readonly grid: boolean },
): void {
  const { left, top, width, height } = frame;
  for (const { place } of grid ? y.ticks : []) {
    const at = downOf(frame, place);
    pen.stroke(pathOf(left, at, left + width, at), { colour: palette.grid, width: 1 });
  }
  const corner = pathOf(left, top, left, top + height, left + width, top + height);
  pen.stroke(corner, { colour: palette.axis, width: 1 });
  if (words) drawWords(pen, frame, x, y, palette);
}

/** What the axes are called, in the corners that they lead to. */
export function drawNames(
  pen: Pen,
  { left, top, width, height }: Box,
  across: string,
  up: string,
  palette: Palette,
): void {
  const style = { size: LABEL_SIZE, bold: true, colour: palette.text, baseline: 'middle' } as const;
  const write = (text: string, from: number, y: number): void => {
    const box = { left: from - 4, top: y - NAME_HEIGHT / 2, height: NAME_HEIGHT };
    const wide = pen.widthOf(text, style) + 8;
    // Dots and pictures below would make it hard to read.
    pen.box({ ...box, width: wide }, { colour: palette.paper, opacity: 0.82, radius: 3 });
    pen.text(text, from, y, { ...style, align: 'left' });
  };
  write(up, left + 6, top + NAME_HEIGHT / 2);
  const end = left + width - 4 - pen.widthOf(across, style);
  write(across, end, top + height - NAME_HEIGHT / 2 - 2);
}

function drawWords(pen: Pen, frame: Box, x: Axis, y: Axis, palette: Palette): void {
  const style = { size: LABEL_SIZE, colour: palette.label } as const;
  const foot = frame.top + frame.height;
  let free = -Infinity;
  for (const { place, text } of [...x.ticks].sort((one, other) => one.place - other.place)) {
    const half = pen.widthOf(text, style) / 2;
    const at = Math.min(acrossOf(frame, place), frame.left + frame.width + RIGHT - half);
    // A word that would run into the one before is left out.
    if (at - half < free) continue;
    free = at + half + 6;
    pen.text(text, at, foot + 6, { ...style, align: 'center', baseline: 'top' });
  }
  for (const { place, text } of y.ticks)
    pen.text(shortened(text), frame.left - 6, downOf(frame, place), {
      ...style,
      align: 'right',
      baseline: 'middle',
    });
}

function shortened(text: string): string {
  return text.length > 8 ? `${text.slice(0, 7)}…` : text;
}
