/** Layout and drawing of the parallel coordinates plot. */
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/hparams';
import type { Size } from '../../../charts/axes/plot-axes';
import {
  type ChartTheme,
  makePath,
  type Path,
  type Raster,
  type Renderer,
} from '../../../charts/renderer/renderer';
import { parseRgb } from '../../../lib/colors';
import {
  COLOR_LEVELS,
  type ColumnAxis,
  type ColumnAxisTick,
  computePositions,
  type TrialColors,
} from '../model/column-axes';
import { type Brush, listMaskRows } from '../model/trial-filters';

export interface PlacedAxis {
  readonly axis: ColumnAxis;
  readonly x: number;
}

/** Positions in pixels. */
export interface ParallelLayout {
  readonly axes: readonly PlacedAxis[];
  readonly gap: number;
  readonly top: number;
  readonly bottom: number;
  /** Where the lines of trials without a value cross an axis. */
  readonly missingY: number;
}

/** Space for the titles of the axes. */
export const HEADER_HEIGHT_PX = 48;
const FOOTER_HEIGHT_PX = 26;
const SIDE_PADDING_PX = 56;
/** Missing values are below the axis. */
const MISSING_OFFSET_PX = 15;
/** The plot scrolls rather than have axes closer together. */
const MIN_AXIS_GAP_PX = 78;

export function getMinWidth(count: number): number {
  return 2 * SIDE_PADDING_PX + Math.max(0, count - 1) * MIN_AXIS_GAP_PX;
}

export function layoutAxes(axes: readonly ColumnAxis[], { width, height }: Size): ParallelLayout {
  const gap = axes.length > 1 ? (width - 2 * SIDE_PADDING_PX) / (axes.length - 1) : 0;
  const left = axes.length > 1 ? SIDE_PADDING_PX : width / 2;
  const bottom = Math.max(HEADER_HEIGHT_PX + 20, height - FOOTER_HEIGHT_PX);
  return {
    axes: axes.map((axis, index) => ({ axis, x: left + index * gap })),
    gap,
    top: HEADER_HEIGHT_PX,
    bottom,
    missingY: bottom + MISSING_OFFSET_PX,
  };
}

export function toPixel({ top, bottom }: ParallelLayout, position: number): number {
  return bottom - position * (bottom - top);
}

export function toAxisPosition({ top, bottom }: ParallelLayout, pixel: number): number {
  return Math.min(1, Math.max(0, (bottom - pixel) / (bottom - top)));
}

/**
 * Return, for each axis, the y coordinate of each trial. On discrete axes the lines of one value are
 * spread out, the stronger colors above, so that none hides the others.
 */
export function computeLineYs(layout: ParallelLayout, { levels }: TrialColors): Float32Array[] {
  return layout.axes.map(({ axis }) => {
    const spread = getSpread(axis, layout.bottom - layout.top);
    return computePositions(axis).map((position, row) => {
      const offset = (levels[row] ?? 0) / (COLOR_LEVELS - 1) - 0.5;
      const y = Number.isNaN(position) ? layout.missingY : toPixel(layout, position);
      return y - offset * spread;
    });
  });
}

/** Return the height in pixels over which the lines of one value are spread. */
function getSpread({ ticks, isDiscrete }: ColumnAxis, length: number): number {
  if (!isDiscrete) return 0;
  const positions = ticks.map(({ position }) => position).sort((a, b) => a - b);
  const gaps = positions.slice(1).map((position, index) => position - (positions[index] ?? 0));
  return Math.min(MAX_SPREAD_PX, 0.5 * length * Math.min(...gaps, 1));
}

const MAX_SPREAD_PX = 18;

/** Return the trial whose line is nearest to a point, if one is near enough. */
export function findNearestLine(
  { axes, gap }: ParallelLayout,
  lineYs: readonly Float32Array[],
  rows: Int32Array,
  x: number,
  y: number,
): number | null {
  const position = gap > 0 ? (x - (axes[0]?.x ?? 0)) / gap : 0;
  const index = Math.min(Math.max(0, Math.floor(position)), Math.max(0, axes.length - 2));
  const [from, to] = [lineYs[index], lineYs[index + 1] ?? lineYs[index]];
  if (!from || !to || position < -0.15 || position > axes.length - 0.85) return null;
  const share = Math.min(1, Math.max(0, position - index));
  let nearest: number | null = null;
  let minDistance = HOVER_DISTANCE_PX;
  for (const row of rows) {
    const lineY = (from[row] ?? NaN) * (1 - share) + (to[row] ?? NaN) * share;
    const distance = Math.abs(lineY - y);
    if (distance < minDistance) [nearest, minDistance] = [row, distance];
  }
  return nearest;
}

const HOVER_DISTANCE_PX = 9;

export interface ParallelLines {
  readonly layout: ParallelLayout;
  readonly lineYs: readonly Float32Array[];
  readonly trialColors: TrialColors;
  /** The color of each level. */
  readonly colors: readonly string[];
}

/** More line segments are rasterized. */
const MAX_VECTOR_SEGMENTS = 12_000;
const LABEL_FONT_PX = 10.5;
const LABEL_HEIGHT_PX = 13;

/**
 * Draw the lines of trials, those with the strongest colors on top. `rasterizer` keeps the lines that
 * the last call has drawn.
 */
export function drawLines(
  renderer: Renderer,
  size: Size,
  lines: ParallelLines,
  rows: Int32Array,
  rasterizer = makeLineRasterizer(size, lines),
): void {
  const { trialColors, colors } = lines;
  if (rows.length * lines.layout.axes.length > MAX_VECTOR_SEGMENTS)
    return drawRasterizedLines(renderer, rasterizer, rows, colors);
  const width = rows.length < 80 ? 1.6 : 1;
  const opacity = Math.min(1, Math.max(0.35, 12 / Math.sqrt(rows.length)));
  for (let level = 0; level < COLOR_LEVELS; level++) {
    const levelRows = rows.filter((row) => trialColors.levels[row] === level);
    if (levelRows.length === 0) continue;
    const color = colors[level] ?? '';
    renderer.stroke(makeLinePath(lines, levelRows), { color, width, opacity });
  }
}

/** Draw all trials in one color, as the background of those that pass the filters. */
export function drawUnfilteredLines(
  renderer: Renderer,
  size: Size,
  lines: ParallelLines,
  color: string,
): void {
  const rows = lines.trialColors.drawOrder;
  const colors = lines.colors.map(() => color);
  if (rows.length * lines.layout.axes.length > MAX_VECTOR_SEGMENTS)
    return drawRasterizedLines(renderer, makeLineRasterizer(size, lines), rows, colors);
  const opacity = Math.min(0.8, Math.max(0.25, 10 / Math.sqrt(rows.length)));
  renderer.stroke(makeLinePath(lines, rows), { color, width: 1, opacity });
}

export function makeLineRasterizer(
  size: Size,
  { layout, lineYs, trialColors }: ParallelLines,
): LineRasterizer {
  return new LineRasterizer({
    width: Math.round(size.width),
    height: Math.round(size.height),
    xs: layout.axes.map(({ x }) => x),
    lineYs,
    levels: trialColors.levels,
  });
}

function drawRasterizedLines(
  renderer: Renderer,
  rasterizer: LineRasterizer,
  rows: Int32Array,
  colors: readonly string[],
): void {
  const opacity = Math.min(0.5, Math.max(0.08, 400 / rows.length));
  const raster = rasterizer.draw(rows, colors.map(parseRgb), opacity);
  renderer.image(raster, { left: 0, top: 0, width: raster.width, height: raster.height });
}

export function makeLinePath({ layout, lineYs }: ParallelLines, rows: ArrayLike<number>): Path {
  const { axes } = layout;
  const points = new Float32Array(rows.length * 2 * (axes.length + 1));
  let length = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] ?? 0;
    axes.forEach(({ x }, axis) => {
      points[length++] = x;
      points[length++] = lineYs[axis]?.[row] ?? NaN;
    });
    points[length++] = NaN;
    points[length++] = NaN;
  }
  return { points, length };
}

/** Draw the axes. Labels have a background, so that they are readable above lines. */
export function drawAxes(
  renderer: Renderer,
  layout: ParallelLayout,
  theme: ChartTheme,
  hasMissing: boolean,
): void {
  const { top, bottom, missingY } = layout;
  for (const { axis, x } of layout.axes) {
    renderer.stroke(makePath(x, top, x, bottom), { color: theme.crosshair, width: 1 });
    drawTicks(renderer, layout, axis.ticks, x, theme);
  }
  const [first] = layout.axes;
  if (!hasMissing || !first) return;
  const hasTexts = layout.axes.some(({ axis }) => axis.column.texts);
  const label = hasTexts ? m.parallelOther : common.noValue;
  drawLabel(renderer, label, first.x - 7, missingY, theme);
}

export function drawBrush(
  renderer: Renderer,
  layout: ParallelLayout,
  x: number,
  [low, high]: Brush,
  { accent }: ChartTheme,
): void {
  const [top, bottom] = [toPixel(layout, high), toPixel(layout, low)];
  const box = { left: x - 9, top, width: 18, height: Math.max(2, bottom - top) };
  renderer.rect(box, { color: accent, opacity: 0.22, radius: 4 });
}

/** Labels that would overlap the previous one are omitted; their ticks are not. */
function drawTicks(
  renderer: Renderer,
  layout: ParallelLayout,
  ticks: readonly ColumnAxisTick[],
  x: number,
  theme: ChartTheme,
): void {
  let maxY = Infinity;
  for (const { position, text } of [...ticks].sort((a, b) => a.position - b.position)) {
    const y = toPixel(layout, position);
    renderer.stroke(makePath(x - 3, y, x + 3, y), { color: theme.crosshair, width: 1 });
    if (y > maxY) continue;
    drawLabel(renderer, truncateLabel(text), x - 7, y, theme);
    maxY = y - LABEL_HEIGHT_PX;
  }
}

function drawLabel(
  renderer: Renderer,
  text: string,
  right: number,
  y: number,
  theme: ChartTheme,
): void {
  const width = renderer.measureText(text, { size: LABEL_FONT_PX }) + 4;
  const box = {
    left: right - width + 2,
    top: y - LABEL_HEIGHT_PX / 2,
    width,
    height: LABEL_HEIGHT_PX,
  };
  renderer.rect(box, { color: theme.background, opacity: 0.78, radius: 3 });
  const style = { size: LABEL_FONT_PX, align: 'right', baseline: 'middle' } as const;
  renderer.text(text, right, y, { ...style, color: theme.text });
}

const MAX_LABEL_LENGTH = 14;

function truncateLabel(text: string): string {
  return text.length > MAX_LABEL_LENGTH ? `${text.slice(0, MAX_LABEL_LENGTH - 1)}…` : text;
}

/** Lines that may be rasterized: thousands of strokes would take too long. */
export interface RasterLines {
  readonly width: number;
  readonly height: number;
  /** Of the axes. */
  readonly xs: readonly number[];
  /** For each axis, the y coordinate of each trial. */
  readonly lineYs: readonly Float32Array[];
  /** For each trial, the index of its color. */
  readonly levels: Uint8Array;
}

/** The opacity of a pixel does not increase further with more lines. */
const MAX_LINES_PER_PIXEL = 255;

/**
 * Draws lines as pixels, one pixel per column and line. A pixel has the mean color of its lines and
 * is more opaque the more lines there are. Of several drawings, as while an axis is brushed, only
 * the lines that are new or gone are rasterized.
 */
export class LineRasterizer {
  readonly #lines: RasterLines;
  /** For each pixel, the number of lines and the sum of their levels. */
  readonly #counts: Uint32Array;
  readonly #sums: Uint32Array;
  /** 1 for each trial in the pixels. */
  #drawn: Uint8Array;

  constructor(lines: RasterLines) {
    this.#lines = lines;
    this.#counts = new Uint32Array(lines.width * lines.height);
    this.#sums = new Uint32Array(lines.width * lines.height);
    this.#drawn = new Uint8Array(lines.levels.length);
  }

  /** Draw the lines of some trials; `rampColors` are red, green and blue. */
  draw(rows: Int32Array, rampColors: readonly (readonly number[])[], opacity: number): Raster {
    const drawn = new Uint8Array(this.#drawn.length);
    for (const row of rows) drawn[row] = 1;
    const added = rows.filter((row) => !this.#drawn[row]);
    const removed = listMaskRows(this.#drawn).filter((row) => !drawn[row]);
    if (added.length + removed.length < rows.length) {
      this.#accumulate(added, 1);
      this.#accumulate(removed, -1);
    } else {
      this.#counts.fill(0);
      this.#sums.fill(0);
      this.#accumulate(rows, 1);
    }
    this.#drawn = drawn;
    return this.#colorize(rampColors, opacity);
  }

  #accumulate(rows: Int32Array, sign: 1 | -1): void {
    for (let gap = 0; gap + 1 < this.#lines.xs.length; gap++) this.#accumulateGap(rows, sign, gap);
  }

  /** Count the lines, and add up their levels, in the pixels between two axes. */
  #accumulateGap(rows: Int32Array, sign: number, gap: number): void {
    const { xs, lineYs, levels, width, height } = this.#lines;
    const [counts, sums] = [this.#counts, this.#sums];
    const [from, to] = [lineYs[gap], lineYs[gap + 1]];
    const left = Math.max(0, Math.round(xs[gap] ?? 0));
    const right = Math.min(width, Math.round(xs[gap + 1] ?? 0));
    if (!from || !to || right <= left) return;
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] ?? 0;
      const slope = ((to[row] ?? 0) - (from[row] ?? 0)) / (right - left);
      const level = sign * (levels[row] ?? 0);
      let y = from[row] ?? 0;
      for (let x = left; x < right; x++) {
        // Stored by column, so that the pixels of a line are close together in memory.
        const pixel = x * height + (y | 0);
        counts[pixel] = (counts[pixel] ?? 0) + sign;
        sums[pixel] = (sums[pixel] ?? 0) + level;
        y += slope;
      }
    }
  }

  #colorize(rampColors: readonly (readonly number[])[], opacity: number): Raster {
    const { width, height } = this.#lines;
    const [counts, sums] = [this.#counts, this.#sums];
    const pixels = new Uint8ClampedArray(4 * width * height);
    const words = new Uint32Array(pixels.buffer);
    const alphas = Uint8Array.from(
      { length: MAX_LINES_PER_PIXEL + 1 },
      (_, count) => 255 * (1 - (1 - opacity) ** count),
    );
    const colors = Uint32Array.from(
      rampColors,
      ([red = 0, green = 0, blue = 0]) => red | (green << 8) | (blue << 16),
    );
    for (let x = 0; x < width; x++) {
      for (let y = 0; y < height; y++) {
        const count = counts[x * height + y] ?? 0;
        if (count === 0) continue;
        const level = Math.round((sums[x * height + y] ?? 0) / count);
        const alpha = alphas[Math.min(MAX_LINES_PER_PIXEL, count)] ?? 255;
        words[y * width + x] = (colors[level] ?? 0) | (alpha << 24);
      }
    }
    return { width, height, pixels };
  }
}
