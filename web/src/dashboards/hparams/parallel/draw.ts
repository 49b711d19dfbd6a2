import { channelsOf } from '../../../charts/colour/ramp';
import type { Path, Pen } from '../../../charts/pen/pen';
import { pathOf } from '../../../charts/pen/pen';
import type { Palette } from '../../../charts/picture/palette';
import type { Size } from '../../../charts/picture/layout';
import type { AxisTick } from '../model/axis';
import type { Brush } from '../model/brush';
import { type Ink, LEVELS } from '../model/ink';
import type { Layout } from './layout';
import { pixelOf } from './layout';
import { drawThreads } from './density';

/** What lines are drawn from. */
export interface Lines {
  readonly layout: Layout;
  readonly heights: readonly Float32Array[];
  readonly ink: Ink;
  /** A colour for each level of the ink. */
  readonly colours: readonly string[];
}

/** More pieces of lines than this are drawn as pixels. */
const MANY_PIECES = 12_000;
const LABEL_SIZE = 10.5;
const LABEL_HEIGHT = 13;

/** Lines of sessions in order of importance, the most important on top. */
export function drawLines(pen: Pen, size: Size, lines: Lines, rows: Int32Array): void {
  const { ink, colours } = lines;
  if (rows.length * lines.layout.axes.length > MANY_PIECES)
    return drawMany(pen, size, lines, rows, colours);
  const width = rows.length < 80 ? 1.6 : 1;
  const opacity = Math.min(1, Math.max(0.35, 12 / Math.sqrt(rows.length)));
  for (let level = 0; level < LEVELS; level++) {
    const own = rows.filter((row) => ink.levels[row] === level);
    const colour = colours[level] ?? '';
    if (own.length > 0) pen.stroke(pathThrough(lines, own), { colour, width, opacity });
  }
}

/** All sessions, to see what the others are among. */
export function drawContext(pen: Pen, size: Size, lines: Lines, colour: string): void {
  const rows = lines.ink.order;
  const colours = lines.colours.map(() => colour);
  if (rows.length * lines.layout.axes.length > MANY_PIECES)
    return drawMany(pen, size, lines, rows, colours);
  const opacity = Math.min(0.8, Math.max(0.25, 10 / Math.sqrt(rows.length)));
  pen.stroke(pathThrough(lines, rows), { colour, width: 1, opacity });
}

function drawMany(
  pen: Pen,
  size: Size,
  { layout, heights, ink }: Lines,
  rows: Int32Array,
  colours: readonly string[],
): void {
  const raster = drawThreads({
    width: Math.round(size.width),
    height: Math.round(size.height),
    xs: layout.axes.map(({ x }) => x),
    heights,
    rows,
    levels: ink.levels,
    shades: colours.map(channelsOf),
    opacity: Math.min(0.5, Math.max(0.08, 400 / rows.length)),
  });
  pen.image(raster, { left: 0, top: 0, width: raster.width, height: raster.height });
}

export function pathThrough({ layout, heights }: Lines, rows: ArrayLike<number>): Path {
  const { axes } = layout;
  const points = new Float32Array(rows.length * 2 * (axes.length + 1));
  let length = 0;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? 0;
    axes.forEach(({ x }, place) => {
      points[length++] = x;
      points[length++] = heights[place]?.[row] ?? NaN;
    });
    points[length++] = NaN;
    points[length++] = NaN;
  }
  return { points, length };
}

/** Axes with their values, on paper of their own so that lines do not strike them out. */
export function drawAxes(pen: Pen, layout: Layout, palette: Palette, hasBlanks: boolean): void {
  const { top, foot, blank } = layout;
  for (const { axis, x } of layout.axes) {
    pen.stroke(pathOf(x, top, x, foot), { colour: palette.rule, width: 1 });
    drawTicks(pen, layout, axis.ticks, x, palette);
  }
  const [first] = layout.axes;
  if (hasBlanks && first) drawLabel(pen, 'no value', first.x - 7, blank, palette);
}

/** The part of an axis that somebody chose. */
export function drawBrush(
  pen: Pen,
  layout: Layout,
  x: number,
  [low, high]: Brush,
  { accent }: Palette,
): void {
  const [top, foot] = [pixelOf(layout, high), pixelOf(layout, low)];
  const box = { left: x - 9, top, width: 18, height: Math.max(2, foot - top) };
  pen.box(box, { colour: accent, opacity: 0.22, radius: 4 });
}

/** A label that would run into the one before is left out, its mark is not. */
function drawTicks(
  pen: Pen,
  layout: Layout,
  ticks: readonly AxisTick[],
  x: number,
  palette: Palette,
): void {
  let free = Infinity;
  for (const { place, text } of [...ticks].sort((one, other) => one.place - other.place)) {
    const y = pixelOf(layout, place);
    pen.stroke(pathOf(x - 3, y, x + 3, y), { colour: palette.rule, width: 1 });
    if (y > free) continue;
    drawLabel(pen, shortened(text), x - 7, y, palette);
    free = y - LABEL_HEIGHT;
  }
}

function drawLabel(pen: Pen, text: string, right: number, y: number, palette: Palette): void {
  const width = pen.widthOf(text, { size: LABEL_SIZE }) + 4;
  const box = { left: right - width + 2, top: y - LABEL_HEIGHT / 2, width, height: LABEL_HEIGHT };
  pen.box(box, { colour: palette.paper, opacity: 0.78, radius: 3 });
  const place = { align: 'right', baseline: 'middle' } as const;
  pen.text(text, right, y, { ...place, size: LABEL_SIZE, colour: palette.text });
}

const LONGEST = 14;

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
