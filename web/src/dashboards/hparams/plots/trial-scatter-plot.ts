/** Layout and drawing of scatter plots, their trend lines and the surface of contour plots. */
import type { Size } from '../../../charts/axes/plot-axes';
import {
  type ChartTheme,
  makePath,
  type Raster,
  type Rect,
  type Renderer,
} from '../../../charts/renderer/renderer';
import { parseRgb } from '../../../lib/colors';
import type { ColumnAxis, TrialColors } from '../model/column-axes';

/** Return the area of the dots, inside the labels of the axes. */
export function getPlotArea({ width, height }: Size, hasLabels: boolean): Rect {
  const [left, top, right, bottom] = hasLabels ? [52, 10, 12, 24] : [5, 5, 5, 5];
  return {
    left,
    top,
    width: Math.max(1, width - left - right),
    height: Math.max(1, height - top - bottom),
  };
}

export function toX({ left, width }: Rect, position: number): number {
  return left + position * width;
}

export function toY({ top, height }: Rect, position: number): number {
  return top + (1 - position) * height;
}

/** Return the position of a pixel, limited to the plot area. */
export function toPlotPosition(area: Rect, x: number, y: number): { x: number; y: number } {
  const clamp = (position: number): number => Math.min(1, Math.max(0, position));
  return {
    x: clamp((x - area.left) / area.width),
    y: clamp(1 - (y - area.top) / area.height),
  };
}

/** Positions of the trials from 0 to 1; NaN if a value is missing. */
export interface ScatterPositions {
  readonly x: Float32Array;
  readonly y: Float32Array;
}

const HOVER_RADIUS_PX = 14;

/** Return the trial nearest to a pixel, if one is near enough. `rows` are in drawing order. */
export function findNearestDot(
  { x, y }: ScatterPositions,
  area: Rect,
  rows: Int32Array,
  pointerX: number,
  pointerY: number,
): number | null {
  let nearest: number | null = null;
  let minSquare = HOVER_RADIUS_PX * HOVER_RADIUS_PX;
  for (const row of rows) {
    const dx = toX(area, x[row] ?? NaN) - pointerX;
    const dy = toY(area, y[row] ?? NaN) - pointerY;
    const square = dx * dx + dy * dy;
    // Of dots at the same position, the last one is on top.
    if (square <= minSquare) [nearest, minSquare] = [row, square];
  }
  return nearest;
}

export interface ScatterDots {
  readonly positions: ScatterPositions;
  readonly trialColors: TrialColors;
  readonly colors: readonly string[];
  readonly passingMask: Uint8Array;
  /** Of trials that do not pass the filters. */
  readonly fadedColor: string;
  /** Color of a ring around each dot, to separate it from an image below. */
  readonly ring?: string | undefined;
}

/** More dots are rasterized. */
const MAX_VECTOR_DOTS = 1500;
const LABEL_FONT_PX = 10.5;
const AXIS_TITLE_HEIGHT_PX = 15;
/** How far a tick label may extend beyond the plot area. */
const LABEL_OVERHANG_PX = 10;

export function drawDots(renderer: Renderer, area: Rect, dots: ScatterDots): void {
  const { trialColors, passingMask } = dots;
  if (trialColors.drawOrder.length > MAX_VECTOR_DOTS) {
    const raster = rasterizeDots(area, dots);
    return renderer.image(raster, { ...area, width: raster.width, height: raster.height });
  }
  const faded = trialColors.drawOrder.filter((row) => !passingMask[row]);
  const passing = trialColors.drawOrder.filter((row) => passingMask[row] === 1);
  const radius = trialColors.drawOrder.length < 120 ? 4 : 2.6;
  for (const row of faded) drawDot(renderer, area, dots, row, radius - 1, dots.fadedColor);
  const covering = countCoveringDots(dots.positions, area, passing);
  passing.forEach((row, index) => {
    const growth = RING_WIDTH_PX * Math.min(MAX_RINGS, covering[index] ?? 0);
    const color = dots.colors[trialColors.levels[row] ?? 0] ?? '';
    drawDot(renderer, area, dots, row, radius + growth, color);
  });
}

/** Dots at the same position are rings around each other, so that none is hidden. */
const RING_WIDTH_PX = 1.3;
const MAX_RINGS = 4;

/** Return for each row how many of the rows after it have a dot at the same pixel. */
export function countCoveringDots(
  { x, y }: ScatterPositions,
  area: Rect,
  rows: Int32Array,
): Uint16Array {
  const above = new Map<number, number>();
  const counts = new Uint16Array(rows.length);
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index] ?? 0;
    const line = Math.round(toY(area, y[row] ?? NaN));
    const pixel = line * PIXELS_PER_LINE + Math.round(toX(area, x[row] ?? NaN));
    const count = above.get(pixel) ?? 0;
    counts[index] = count;
    above.set(pixel, count + 1);
  }
  return counts;
}

/** More than any plot has. */
const PIXELS_PER_LINE = 1 << 16;

function drawDot(
  renderer: Renderer,
  area: Rect,
  { positions, ring }: ScatterDots,
  row: number,
  radius: number,
  color: string,
): void {
  const [x, y] = [positions.x[row] ?? NaN, positions.y[row] ?? NaN];
  if (Number.isNaN(x + y)) return;
  const style = ring === undefined ? { color } : { color, ring };
  renderer.dot(toX(area, x), toY(area, y), radius, style);
}

/** Draw dots as squares of two by two pixels; those of passing trials are above the others. */
export function rasterizeDots(area: Rect, dots: ScatterDots): Raster {
  const { positions, trialColors, passingMask } = dots;
  const { drawOrder, levels } = trialColors;
  const [width, height] = [Math.round(area.width) + 1, Math.round(area.height) + 1];
  const pixels = new Uint8ClampedArray(4 * width * height);
  const packedPixels = new Uint32Array(pixels.buffer);
  const [faded, colors] = [packColor(dots.fadedColor), dots.colors.map(packColor)];
  for (const layer of [0, 1]) {
    for (let index = 0; index < drawOrder.length; index++) {
      const row = drawOrder[index] ?? 0;
      if (passingMask[row] !== layer) continue;
      const [x, y] = [positions.x[row] ?? NaN, positions.y[row] ?? NaN];
      if (Number.isNaN(x + y)) continue;
      const color = layer === 0 ? faded : (colors[levels[row] ?? 0] ?? faded);
      const pixel = (((1 - y) * (height - 2)) | 0) * width + ((x * (width - 2)) | 0);
      packedPixels[pixel] = packedPixels[pixel + 1] = color;
      packedPixels[pixel + width] = packedPixels[pixel + width + 1] = color;
    }
  }
  return { width, height, pixels };
}

/** Return a color as a number whose little-endian bytes are RGBA. */
function packColor(color: string): number {
  const [red = 0, green = 0, blue = 0] = parseRgb(color);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function drawTrendLine(
  renderer: Renderer,
  area: Rect,
  line: readonly (readonly [number, number])[],
  color: string,
): void {
  const points = line.flatMap(([x, y]) => [toX(area, x), toY(area, y)]);
  renderer.stroke(makePath(...points), { color, width: 2.5 });
}

export function drawScatterAxes(
  renderer: Renderer,
  area: Rect,
  x: ColumnAxis,
  y: ColumnAxis,
  theme: ChartTheme,
  { labels, grid }: { readonly labels: boolean; readonly grid: boolean },
): void {
  const { left, top, width, height } = area;
  for (const { position } of grid ? y.ticks : []) {
    const lineY = toY(area, position);
    renderer.stroke(makePath(left, lineY, left + width, lineY), { color: theme.grid, width: 1 });
  }
  const corner = makePath(left, top, left, top + height, left + width, top + height);
  renderer.stroke(corner, { color: theme.axis, width: 1 });
  if (labels) drawTickLabels(renderer, area, x, y, theme);
}

/** Draw the titles of the axes inside the plot area, for exported images. */
export function drawAxisTitles(
  renderer: Renderer,
  { left, top, width, height }: Rect,
  titleX: string,
  titleY: string,
  theme: ChartTheme,
): void {
  const style = {
    size: LABEL_FONT_PX,
    bold: true,
    color: theme.text,
    baseline: 'middle',
  } as const;
  const write = (text: string, x: number, y: number): void => {
    const box = {
      left: x - 4,
      top: y - AXIS_TITLE_HEIGHT_PX / 2,
      width: renderer.measureText(text, style) + 8,
      height: AXIS_TITLE_HEIGHT_PX,
    };
    // The title is readable above dots and images.
    renderer.rect(box, { color: theme.background, opacity: 0.82, radius: 3 });
    renderer.text(text, x, y, { ...style, align: 'left' });
  };
  write(titleY, left + 6, top + AXIS_TITLE_HEIGHT_PX / 2);
  const right = left + width - 4 - renderer.measureText(titleX, style);
  write(titleX, right, top + height - AXIS_TITLE_HEIGHT_PX / 2 - 2);
}

function drawTickLabels(
  renderer: Renderer,
  area: Rect,
  x: ColumnAxis,
  y: ColumnAxis,
  theme: ChartTheme,
): void {
  const style = { size: LABEL_FONT_PX, color: theme.label } as const;
  const bottom = area.top + area.height;
  const maxRight = area.left + area.width + LABEL_OVERHANG_PX;
  let minLeft = -Infinity;
  for (const { position, text } of [...x.ticks].sort((a, b) => a.position - b.position)) {
    const half = renderer.measureText(text, style) / 2;
    const center = Math.min(toX(area, position), maxRight - half);
    // Labels that would overlap the previous one are omitted.
    if (center - half < minLeft) continue;
    minLeft = center + half + 6;
    renderer.text(text, center, bottom + 6, { ...style, align: 'center', baseline: 'top' });
  }
  for (const { position, text } of y.ticks)
    renderer.text(truncateLabel(text), area.left - 6, toY(area, position), {
      ...style,
      align: 'right',
      baseline: 'middle',
    });
}

const MAX_LABEL_LENGTH = 8;

function truncateLabel(text: string): string {
  return text.length > MAX_LABEL_LENGTH ? `${text.slice(0, MAX_LABEL_LENGTH - 1)}…` : text;
}

// ---- trend line

const TREND_BINS = 12;
const MIN_TRIALS_PER_BIN = 2;

/** Return a line through the medians of equal parts of the x axis, in positions from 0 to 1. */
export function computeTrend(
  x: Float32Array,
  y: Float32Array,
  rows: Int32Array,
): [number, number][] {
  const bins = new Map<number, { readonly xs: number[]; readonly ys: number[] }>();
  for (const row of rows) {
    const [rowX, rowY] = [x[row] ?? NaN, y[row] ?? NaN];
    if (Number.isNaN(rowX + rowY)) continue;
    const index = Math.min(TREND_BINS - 1, Math.floor(rowX * TREND_BINS));
    const bin = bins.get(index) ?? { xs: [], ys: [] };
    bin.xs.push(rowX);
    bin.ys.push(rowY);
    bins.set(index, bin);
  }
  return [...bins.values()]
    .filter(({ xs }) => xs.length >= MIN_TRIALS_PER_BIN)
    .map(({ xs, ys }): [number, number] => [computeMedian(xs), computeMedian(ys)])
    .sort(([a], [b]) => a - b);
}

function computeMedian(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const [low, high] = [(sorted.length - 1) >> 1, sorted.length >> 1];
  return ((sorted[low] ?? NaN) + (sorted[high] ?? NaN)) / 2;
}

// ---- surface of the contour plot

/** A grid with the mean of the trials in or near each cell. */
export interface MeanSurface {
  readonly columns: number;
  readonly lines: number;
  /** From 0 to 1, line by line from the top; NaN if there is no trial. */
  readonly values: Float64Array;
}

/** The number of categories of the axes; null for numbers. */
export interface AxisCategories {
  readonly x: number | null;
  readonly y: number | null;
}

const GRID_SIZE = 80;
/** Standard deviation of the kernel in cells; larger with few trials. */
const KERNEL_RADIUS = 3.6;
/** Cells with a smaller weight, as a fraction of one trial, are empty. */
const MIN_KERNEL_WEIGHT = 0.02;

/**
 * Return the mean of the trials around each cell, weighted by a Gaussian kernel. There is nothing
 * between two categories, such as true and false: along such an axis, each has one cell.
 */
export function computeMeanSurface(
  positions: ScatterPositions,
  values: Float32Array,
  rows: Int32Array,
  categories: AxisCategories,
): MeanSurface {
  const columns = categories.x ?? GRID_SIZE;
  const lines = categories.y ?? GRID_SIZE;
  const sums = new Float64Array(columns * lines);
  const weights = new Float64Array(columns * lines);
  let count = 0;
  for (const row of rows) {
    const [x, y] = [positions.x[row] ?? NaN, positions.y[row] ?? NaN];
    const value = values[row] ?? NaN;
    if (Number.isNaN(x + y + value)) continue;
    const cell = getGridCell(1 - y, lines) * columns + getGridCell(x, columns);
    sums[cell] = (sums[cell] ?? 0) + value;
    weights[cell] = (weights[cell] ?? 0) + 1;
    count += 1;
  }
  const spacing = GRID_SIZE / Math.max(1, Math.sqrt(count));
  const kernel = makeGaussianKernel(KERNEL_RADIUS * Math.max(1, Math.sqrt(spacing) / 1.2));
  const blur = (grid: Float64Array): Float64Array => {
    const across =
      categories.x === null ? blurAxis(grid, kernel, columns, lines, 1, columns) : grid;
    return categories.y === null ? blurAxis(across, kernel, lines, columns, columns, 1) : across;
  };
  const [blurredSums, blurredWeights] = [blur(sums), blur(weights)];
  const means = blurredSums.map((sum, cell) => {
    const weight = blurredWeights[cell] ?? 0;
    return weight > MIN_KERNEL_WEIGHT ? sum / weight : NaN;
  });
  return { columns, lines, values: means };
}

function getGridCell(position: number, size: number): number {
  return Math.min(size - 1, Math.floor(position * size));
}

/** Return the right half of a Gaussian, with its center, which is 1. */
function makeGaussianKernel(radius: number): Float64Array {
  const length = Math.ceil(3 * radius) + 1;
  return Float64Array.from({ length }, (_, distance) => Math.exp(-0.5 * (distance / radius) ** 2));
}

/** Blur `lines` of `length` cells; neighboring cells are `step` apart, and lines `stride`. */
function blurAxis(
  grid: Float64Array,
  kernel: Float64Array,
  length: number,
  lines: number,
  step: number,
  stride: number,
): Float64Array {
  const blurred = new Float64Array(grid.length);
  for (let line = 0; line < lines; line++) {
    for (let cell = 0; cell < length; cell++) {
      let sum = 0;
      for (let other = Math.max(0, cell - kernel.length + 1); other < length; other++) {
        const distance = Math.abs(other - cell);
        if (distance >= kernel.length) break;
        sum += (grid[line * stride + other * step] ?? 0) * (kernel[distance] ?? 0);
      }
      blurred[line * stride + cell * step] = sum;
    }
  }
  return blurred;
}

/** Few colors, so that contour lines are visible. */
const CONTOUR_LEVELS = 12;
/** Cells are enlarged to about this size in total, as images are drawn with smooth edges. */
const MIN_RASTER_SIZE = 160;

/** Return the colors of a contour plot, each the middle of its part of a ramp. */
export function getContourColors(ramp: readonly string[]): string[] {
  return Array.from({ length: CONTOUR_LEVELS }, (_, level) => {
    const shade = Math.floor(((level + 0.5) / CONTOUR_LEVELS) * ramp.length);
    return ramp[shade] ?? '';
  });
}

/** Return a surface as an image in the colors of its legend; empty cells are transparent. */
export function rasterizeSurface(
  { columns, lines, values }: MeanSurface,
  ramp: readonly string[],
  inverted: boolean,
): Raster {
  const [wide, high] = [columns, lines].map((cells) => Math.ceil(MIN_RASTER_SIZE / cells));
  const [width, height] = [columns * (wide ?? 1), lines * (high ?? 1)];
  const pixels = new Uint8ClampedArray(4 * width * height);
  const packedPixels = new Uint32Array(pixels.buffer);
  const colors = getContourColors(ramp).map(packColor);
  packedPixels.forEach((_, pixel) => {
    const line = Math.floor(Math.floor(pixel / width) / (high ?? 1));
    const value = values[line * columns + Math.floor((pixel % width) / (wide ?? 1))] ?? NaN;
    if (Number.isNaN(value)) return;
    const position = Math.min(1, Math.max(0, inverted ? 1 - value : value));
    const level = Math.min(CONTOUR_LEVELS - 1, Math.floor(position * CONTOUR_LEVELS));
    packedPixels[pixel] = colors[level] ?? 0;
  });
  return { width, height, pixels };
}
