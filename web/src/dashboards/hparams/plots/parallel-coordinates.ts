import type { Size } from '../../../charts/axes/plot-layout';
import type { ChartTheme } from '../../../charts/renderer/chart-theme';
import { makePath, type Path, type Raster, type Renderer } from '../../../charts/renderer/renderer';
import { parseRgb } from '../../../lib/colors';
import { type ColumnAxis, type ColumnAxisTick, computePositions } from '../model/column-axes';
import { COLOR_LEVELS, type TrialColors } from '../model/trial-colors';
import type { Brush } from '../model/trial-filters';

export interface PlacedAxis {
  readonly axis: ColumnAxis;
  readonly x: number;
}

/** Where the axes stand, and how far they reach. */
export interface ParallelLayout {
  readonly axes: readonly PlacedAxis[];
  readonly gap: number;
  readonly top: number;
  readonly bottom: number;
  /** Where sessions without a value cross an axis. */
  readonly missingY: number;
}

/** Room for titles above the axes. */
export const HEADER_HEIGHT_PX = 48;
const FOOTER_HEIGHT_PX = 26;
const SIDE_PADDING_PX = 56;
/** Below its axis, a value that is not there. */
const MISSING_OFFSET_PX = 15;
/** Axes closer together than this cannot be read; the picture scrolls instead. */
export const MIN_AXIS_GAP_PX = 78;

export function getMinWidth(count: number): number {
  return 2 * SIDE_PADDING_PX + Math.max(0, count - 1) * MIN_AXIS_GAP_PX;
}

export function layoutAxes(axes: readonly ColumnAxis[], { width, height }: Size): ParallelLayout {
  const gap = axes.length > 1 ? (width - 2 * SIDE_PADDING_PX) / (axes.length - 1) : 0;
  const left = axes.length > 1 ? SIDE_PADDING_PX : width / 2;
  const foot = Math.max(HEADER_HEIGHT_PX + 20, height - FOOTER_HEIGHT_PX);
  const placed = axes.map((axis, at) => ({ axis, x: left + at * gap }));
  return {
    axes: placed,
    gap,
    top: HEADER_HEIGHT_PX,
    bottom: foot,
    missingY: foot + MISSING_OFFSET_PX,
  };
}

/** The pixel of a place on an axis. */
export function toPixel({ top, bottom }: ParallelLayout, place: number): number {
  return bottom - place * (bottom - top);
}

export function toAxisPosition({ top, bottom }: ParallelLayout, pixel: number): number {
  return Math.min(1, Math.max(0, (bottom - pixel) / (bottom - top)));
}

/**
 * For each axis the pixel of each session. Lines that meet in one of few values fan out, the better
 * ones above the others, so that none hides the rest.
 */
export function computeLineYs(layout: ParallelLayout, { levels }: TrialColors): Float32Array[] {
  return layout.axes.map(({ axis }) => {
    const room = getFanHeight(axis, layout.bottom - layout.top);
    return computePositions(axis).map((place, row) => {
      const share = (levels[row] ?? 0) / (COLOR_LEVELS - 1) - 0.5;
      return (Number.isNaN(place) ? layout.missingY : toPixel(layout, place)) - share * room;
    });
  });
}

/** How far lines may fan out at a value of an axis, in pixels. */
function getFanHeight({ ticks, isDiscrete }: ColumnAxis, pixels: number): number {
  if (!isDiscrete) return 0;
  const places = ticks.map(({ position }) => position).sort((one, other) => one - other);
  const gaps = places.slice(1).map((place, at) => place - (places[at] ?? 0));
  return Math.min(MAX_FAN_PX, 0.5 * pixels * Math.min(...gaps, 1));
}

const MAX_FAN_PX = 18;

/** The session whose line is nearest to a place, if one is near enough. */
export function findNearestLine(
  { axes, gap }: ParallelLayout,
  heights: readonly Float32Array[],
  rows: Int32Array,
  x: number,
  y: number,
): number | null {
  const first = axes[0]?.x ?? 0;
  const along = gap > 0 ? (x - first) / gap : 0;
  const at = Math.min(Math.max(0, Math.floor(along)), Math.max(0, axes.length - 2));
  const [from, to] = [heights[at], heights[at + 1] ?? heights[at]];
  if (!from || !to || along < -0.15 || along > axes.length - 0.85) return null;
  const share = Math.min(1, Math.max(0, along - at));
  let nearest: number | null = null;
  let least = HOVER_DISTANCE_PX;
  for (const row of rows) {
    const away = Math.abs((from[row] ?? NaN) * (1 - share) + (to[row] ?? NaN) * share - y);
    if (away < least) [nearest, least] = [row, away];
  }
  return nearest;
}

const HOVER_DISTANCE_PX = 9;

/** What lines are drawn from. */
export interface ParallelLines {
  readonly layout: ParallelLayout;
  readonly lineYs: readonly Float32Array[];
  readonly trialColors: TrialColors;
  /** A colour for each level of the ink. */
  readonly colors: readonly string[];
}

/** More pieces of lines than this are drawn as pixels. */
const MAX_VECTOR_SEGMENTS = 12_000;
const LABEL_FONT_PX = 10.5;
const LABEL_HEIGHT_PX = 13;

/** Lines of sessions in order of importance, the most important on top. */
export function drawLines(pen: Renderer, size: Size, lines: ParallelLines, rows: Int32Array): void {
  const { trialColors, colors } = lines;
  if (rows.length * lines.layout.axes.length > MAX_VECTOR_SEGMENTS)
    return drawRasterizedLines(pen, size, lines, rows, colors);
  const width = rows.length < 80 ? 1.6 : 1;
  const opacity = Math.min(1, Math.max(0.35, 12 / Math.sqrt(rows.length)));
  for (let level = 0; level < COLOR_LEVELS; level++) {
    const own = rows.filter((row) => trialColors.levels[row] === level);
    const color = colors[level] ?? '';
    if (own.length > 0) pen.stroke(makeLinePath(lines, own), { color, width, opacity });
  }
}

/** All sessions, to see what the others are among. */
export function drawUnfilteredLines(
  pen: Renderer,
  size: Size,
  lines: ParallelLines,
  color: string,
): void {
  const rows = lines.trialColors.drawOrder;
  const colors = lines.colors.map(() => color);
  if (rows.length * lines.layout.axes.length > MAX_VECTOR_SEGMENTS)
    return drawRasterizedLines(pen, size, lines, rows, colors);
  const opacity = Math.min(0.8, Math.max(0.25, 10 / Math.sqrt(rows.length)));
  pen.stroke(makeLinePath(lines, rows), { color, width: 1, opacity });
}

function drawRasterizedLines(
  pen: Renderer,
  size: Size,
  { layout, lineYs, trialColors }: ParallelLines,
  rows: Int32Array,
  colors: readonly string[],
): void {
  const raster = rasterizeLines({
    width: Math.round(size.width),
    height: Math.round(size.height),
    xs: layout.axes.map(({ x }) => x),
    lineYs,
    rows,
    levels: trialColors.levels,
    rampColors: colors.map(parseRgb),
    opacity: Math.min(0.5, Math.max(0.08, 400 / rows.length)),
  });
  pen.image(raster, { left: 0, top: 0, width: raster.width, height: raster.height });
}

export function makeLinePath({ layout, lineYs }: ParallelLines, rows: ArrayLike<number>): Path {
  const { axes } = layout;
  const points = new Float32Array(rows.length * 2 * (axes.length + 1));
  let length = 0;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? 0;
    axes.forEach(({ x }, place) => {
      points[length++] = x;
      points[length++] = lineYs[place]?.[row] ?? NaN;
    });
    points[length++] = NaN;
    points[length++] = NaN;
  }
  return { points, length };
}

/** Axes with their values, on paper of their own so that lines do not strike them out. */
export function drawAxes(
  pen: Renderer,
  layout: ParallelLayout,
  palette: ChartTheme,
  hasBlanks: boolean,
): void {
  const { top, bottom, missingY } = layout;
  for (const { axis, x } of layout.axes) {
    pen.stroke(makePath(x, top, x, bottom), { color: palette.crosshair, width: 1 });
    drawTicks(pen, layout, axis.ticks, x, palette);
  }
  const [first] = layout.axes;
  if (hasBlanks && first) drawLabel(pen, 'no value', first.x - 7, missingY, palette);
}

/** The part of an axis that somebody chose. */
export function drawBrush(
  pen: Renderer,
  layout: ParallelLayout,
  x: number,
  [low, high]: Brush,
  { accent }: ChartTheme,
): void {
  const [top, foot] = [toPixel(layout, high), toPixel(layout, low)];
  const box = { left: x - 9, top, width: 18, height: Math.max(2, foot - top) };
  pen.rect(box, { color: accent, opacity: 0.22, radius: 4 });
}

/** A label that would run into the one before is left out, its mark is not. */
function drawTicks(
  pen: Renderer,
  layout: ParallelLayout,
  ticks: readonly ColumnAxisTick[],
  x: number,
  palette: ChartTheme,
): void {
  let free = Infinity;
  for (const { position, text } of [...ticks].sort((one, other) => one.position - other.position)) {
    const y = toPixel(layout, position);
    pen.stroke(makePath(x - 3, y, x + 3, y), { color: palette.crosshair, width: 1 });
    if (y > free) continue;
    drawLabel(pen, truncateLabel(text), x - 7, y, palette);
    free = y - LABEL_HEIGHT_PX;
  }
}

function drawLabel(
  pen: Renderer,
  text: string,
  right: number,
  y: number,
  palette: ChartTheme,
): void {
  const width = pen.measureText(text, { size: LABEL_FONT_PX }) + 4;
  const box = {
    left: right - width + 2,
    top: y - LABEL_HEIGHT_PX / 2,
    width,
    height: LABEL_HEIGHT_PX,
  };
  pen.rect(box, { color: palette.background, opacity: 0.78, radius: 3 });
  const place = { align: 'right', baseline: 'middle' } as const;
  pen.text(text, right, y, { ...place, size: LABEL_FONT_PX, color: palette.text });
}

const MAX_LABEL_LENGTH = 14;

function truncateLabel(text: string): string {
  return text.length > MAX_LABEL_LENGTH ? `${text.slice(0, MAX_LABEL_LENGTH - 1)}…` : text;
}

/** Lines between neighbouring axes, as pixels; thousands of strokes would take too long. */
export interface LineRaster {
  readonly width: number;
  readonly height: number;
  /** Pixels of the axes. */
  readonly xs: readonly number[];
  /** For each axis the pixel of each session. */
  readonly lineYs: readonly Float32Array[];
  /** The sessions that are drawn. */
  readonly rows: Int32Array;
  /** The colour of each session as a place in `shades`. */
  readonly levels: Uint8Array;
  /** Red, green and blue. */
  readonly rampColors: readonly (readonly number[])[];
  /** How much of the paper one line covers. */
  readonly opacity: number;
}

/** More lines than this in a pixel are as opaque as so many. */
const MAX_LINES_PER_PIXEL = 255;

/**
 * Where lines cross, the pixel has the mean of their colours and is the more opaque the more there
 * are. One pixel a column for each line is enough where there are thousands of them.
 */
export function rasterizeLines(threads: LineRaster): Raster {
  const { width, height } = threads;
  const counts = new Uint16Array(width * height);
  const sums = new Uint32Array(width * height);
  for (let gap = 0; gap + 1 < threads.xs.length; gap++)
    accumulateSegment(threads, gap, counts, sums);
  return colorize(threads, counts, sums);
}

function accumulateSegment(
  threads: LineRaster,
  gap: number,
  counts: Uint16Array,
  sums: Uint32Array,
): void {
  const { xs, lineYs, rows, levels, width, height } = threads;
  const [from, to] = [lineYs[gap], lineYs[gap + 1]];
  const left = Math.max(0, Math.round(xs[gap] ?? 0));
  const right = Math.min(width, Math.round(xs[gap + 1] ?? 0));
  if (!from || !to || right <= left) return;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? 0;
    const slope = ((to[row] ?? 0) - (from[row] ?? 0)) / (right - left);
    const level = levels[row] ?? 0;
    let y = from[row] ?? 0;
    for (let x = left; x < right; x++) {
      // Columns lie one after another, so that a line stays close to where it was in memory.
      const place = x * height + (y | 0);
      counts[place] = (counts[place] ?? 0) + 1;
      sums[place] = (sums[place] ?? 0) + level;
      y += slope;
    }
  }
}

function colorize(
  { width, height, rampColors, opacity }: LineRaster,
  counts: Uint16Array,
  sums: Uint32Array,
): Raster {
  const pixels = new Uint8ClampedArray(4 * width * height);
  const alphas = Uint8Array.from(
    { length: MAX_LINES_PER_PIXEL + 1 },
    (_, count) => 255 * (1 - (1 - opacity) ** count),
  );
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const count = counts[x * height + y] ?? 0;
      if (count === 0) continue;
      const shade = rampColors[Math.round((sums[x * height + y] ?? 0) / count)] ?? [];
      const at = 4 * (y * width + x);
      pixels[at] = shade[0] ?? 0;
      pixels[at + 1] = shade[1] ?? 0;
      pixels[at + 2] = shade[2] ?? 0;
      pixels[at + 3] = alphas[Math.min(MAX_LINES_PER_PIXEL, count)] ?? 255;
    }
  }
  return { width, height, pixels };
}
