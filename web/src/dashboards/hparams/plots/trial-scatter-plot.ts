import type { Size } from '../../../charts/axes/plot-layout';
import type { ChartTheme } from '../../../charts/renderer/chart-theme';
import { makePath, type Raster, type Rect, type Renderer } from '../../../charts/renderer/renderer';
import { parseRgb } from '../../../lib/colors';
import type { ColumnAxis } from '../model/column-axes';
import type { TrialColors } from '../model/trial-colors';

/** The part of a chart that points are in; what is around it is for words. */
export function getPlotArea({ width, height }: Size, hasWords: boolean): Rect {
  const [left, top, right, foot] = hasWords ? [52, 10, 12, 24] : [5, 5, 5, 5];
  return {
    left,
    top,
    width: Math.max(1, width - left - right),
    height: Math.max(1, height - top - foot),
  };
}

export function toX({ left, width }: Rect, place: number): number {
  return left + place * width;
}

export function toY({ top, height }: Rect, place: number): number {
  return top + (1 - place) * height;
}

/** The place of a pixel, kept on the plane. */
export function toPlotPosition(frame: Rect, x: number, y: number): { x: number; y: number } {
  const clamp = (place: number): number => Math.min(1, Math.max(0, place));
  return {
    x: clamp((x - frame.left) / frame.width),
    y: clamp(1 - (y - frame.top) / frame.height),
  };
}

/** Where sessions stand on a plane, both from 0 to 1; NaN where a value is missing. */
export interface ScatterPositions {
  readonly x: Float32Array;
  readonly y: Float32Array;
}

const HOVER_RADIUS_PX = 14;

/** The session nearest to a pixel, if one is near enough. */
export function findNearestDot(
  { x, y }: ScatterPositions,
  frame: Rect,
  rows: Int32Array,
  atX: number,
  atY: number,
): number | null {
  let nearest: number | null = null;
  let least = HOVER_RADIUS_PX * HOVER_RADIUS_PX;
  for (const row of rows) {
    const across = toX(frame, x[row] ?? NaN) - atX;
    const down = toY(frame, y[row] ?? NaN) - atY;
    const away = across * across + down * down;
    // Of those at the same place the one drawn last is seen.
    if (away <= least) [nearest, least] = [row, away];
  }
  return nearest;
}

/** The points of a plane. */
export interface ScatterDots {
  readonly positions: ScatterPositions;
  readonly trialColors: TrialColors;
  readonly colors: readonly string[];
  readonly passingMask: Uint8Array;
  /** Of those that do not pass. */
  readonly fadedColor: string;
  /** Sets dots off from a picture below them. */
  readonly ring?: string | undefined;
}

/** More dots than this are drawn as pixels. */
const MAX_VECTOR_DOTS = 1500;
const LABEL_FONT_PX = 10.5;
const AXIS_TITLE_HEIGHT_PX = 15;
/** Room beside the frame that a word may reach into. */
const LABEL_OVERHANG_PX = 10;

export function drawDots(pen: Renderer, frame: Rect, dots: ScatterDots): void {
  const { trialColors, passingMask } = dots;
  const others = trialColors.drawOrder.filter((row) => !passingMask[row]);
  const chosen = trialColors.drawOrder.filter((row) => passingMask[row] === 1);
  if (trialColors.drawOrder.length > MAX_VECTOR_DOTS) {
    const raster = rasterizeDots(frame, dots, [others, chosen]);
    return pen.image(raster, { ...frame, width: raster.width, height: raster.height });
  }
  const radius = trialColors.drawOrder.length < 120 ? 4 : 2.6;
  for (const row of others) drawDot(pen, frame, dots, row, radius - 1, dots.fadedColor);
  for (const row of chosen)
    drawDot(pen, frame, dots, row, radius, dots.colors[trialColors.levels[row] ?? 0] ?? '');
}

function drawDot(
  pen: Renderer,
  frame: Rect,
  { positions, ring }: ScatterDots,
  row: number,
  radius: number,
  color: string,
): void {
  const [x, y] = [positions.x[row] ?? NaN, positions.y[row] ?? NaN];
  if (Number.isNaN(x + y)) return;
  const look = ring === undefined ? { color } : { color, ring };
  pen.dot(toX(frame, x), toY(frame, y), radius, look);
}

/** Squares of two pixels, those that pass above the others. */
function rasterizeDots(frame: Rect, dots: ScatterDots, layers: readonly Int32Array[]): Raster {
  const [width, height] = [Math.round(frame.width) + 1, Math.round(frame.height) + 1];
  const pixels = new Uint8ClampedArray(4 * width * height);
  const words = new Uint32Array(pixels.buffer);
  const [pale, inks] = [packColor(dots.fadedColor), dots.colors.map(packColor)];
  layers.forEach((rows, layer) => {
    for (const row of rows) {
      const [x, y] = [dots.positions.x[row] ?? NaN, dots.positions.y[row] ?? NaN];
      if (Number.isNaN(x + y)) continue;
      const word = layer === 0 ? pale : (inks[dots.trialColors.levels[row] ?? 0] ?? pale);
      const at = Math.floor((1 - y) * (height - 2)) * width + Math.floor(x * (width - 2));
      words[at] = words[at + 1] = words[at + width] = words[at + width + 1] = word;
    }
  });
  return { width, height, pixels };
}

/** A colour as one number, in the order of bytes that all present machines have. */
function packColor(colour: string): number {
  const [red = 0, green = 0, blue = 0] = parseRgb(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** A line through places on the plane. */
export function drawTrendLine(
  pen: Renderer,
  frame: Rect,
  line: readonly (readonly [number, number])[],
  color: string,
): void {
  const points = line.flatMap(([x, y]) => [toX(frame, x), toY(frame, y)]);
  // Wider than what a pen doubles, so that it stands out among dots.
  pen.stroke(makePath(...points), { color, width: 2.5 });
}

/** The axes; a grid only where nothing lies below the dots. */
export function drawScatterAxes(
  pen: Renderer,
  frame: Rect,
  x: ColumnAxis,
  y: ColumnAxis,
  palette: ChartTheme,
  { words, grid }: { readonly words: boolean; readonly grid: boolean },
): void {
  const { left, top, width, height } = frame;
  for (const { position } of grid ? y.ticks : []) {
    const at = toY(frame, position);
    pen.stroke(makePath(left, at, left + width, at), { color: palette.grid, width: 1 });
  }
  const corner = makePath(left, top, left, top + height, left + width, top + height);
  pen.stroke(corner, { color: palette.axis, width: 1 });
  if (words) drawTickLabels(pen, frame, x, y, palette);
}

/** What the axes are called, in the corners that they lead to. */
export function drawAxisTitles(
  pen: Renderer,
  { left, top, width, height }: Rect,
  across: string,
  up: string,
  palette: ChartTheme,
): void {
  const style = {
    size: LABEL_FONT_PX,
    bold: true,
    color: palette.text,
    baseline: 'middle',
  } as const;
  const write = (text: string, from: number, y: number): void => {
    const box = { left: from - 4, top: y - AXIS_TITLE_HEIGHT_PX / 2, height: AXIS_TITLE_HEIGHT_PX };
    const wide = pen.measureText(text, style) + 8;
    // Dots and pictures below would make it hard to read.
    pen.rect({ ...box, width: wide }, { color: palette.background, opacity: 0.82, radius: 3 });
    pen.text(text, from, y, { ...style, align: 'left' });
  };
  write(up, left + 6, top + AXIS_TITLE_HEIGHT_PX / 2);
  const end = left + width - 4 - pen.measureText(across, style);
  write(across, end, top + height - AXIS_TITLE_HEIGHT_PX / 2 - 2);
}

function drawTickLabels(
  pen: Renderer,
  frame: Rect,
  x: ColumnAxis,
  y: ColumnAxis,
  palette: ChartTheme,
): void {
  const style = { size: LABEL_FONT_PX, color: palette.label } as const;
  const foot = frame.top + frame.height;
  let free = -Infinity;
  for (const { position, text } of [...x.ticks].sort(
    (one, other) => one.position - other.position,
  )) {
    const half = pen.measureText(text, style) / 2;
    const at = Math.min(toX(frame, position), frame.left + frame.width + LABEL_OVERHANG_PX - half);
    // A word that would run into the one before is left out.
    if (at - half < free) continue;
    free = at + half + 6;
    pen.text(text, at, foot + 6, { ...style, align: 'center', baseline: 'top' });
  }
  for (const { position, text } of y.ticks)
    pen.text(truncateLabel(text), frame.left - 6, toY(frame, position), {
      ...style,
      align: 'right',
      baseline: 'middle',
    });
}

function truncateLabel(text: string): string {
  return text.length > 8 ? `${text.slice(0, 7)}…` : text;
}

/** How many parts of an axis have a middle of their own. */
const TREND_BINS = 12;
/** A part with fewer sessions says too little. */
const MIN_TRIALS_PER_BIN = 2;

/** The middle of the sessions in each part of an axis, as a line in places from 0 to 1. */
export function computeTrend(
  x: Float32Array,
  y: Float32Array,
  rows: Int32Array,
): [number, number][] {
  const parts = new Map<number, { readonly xs: number[]; readonly ys: number[] }>();
  for (const row of rows) {
    const [atX, atY] = [x[row] ?? NaN, y[row] ?? NaN];
    if (Number.isNaN(atX + atY)) continue;
    const part = Math.min(TREND_BINS - 1, Math.floor(atX * TREND_BINS));
    const found = parts.get(part) ?? { xs: [], ys: [] };
    found.xs.push(atX);
    found.ys.push(atY);
    parts.set(part, found);
  }
  return [...parts.values()]
    .filter(({ xs }) => xs.length >= MIN_TRIALS_PER_BIN)
    .map(({ xs, ys }): [number, number] => [computeMedian(xs), computeMedian(ys)])
    .sort(([one], [other]) => one - other);
}

function computeMedian(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const [low, high] = [(sorted.length - 1) >> 1, sorted.length >> 1];
  return ((sorted[low] ?? NaN) + (sorted[high] ?? NaN)) / 2;
}

/** A field of cells with the mean of the sessions near each. */
export interface MeanSurface {
  readonly size: number;
  /** From 0 to 1 row by row from the top; NaN where no session is near. */
  readonly values: Float64Array;
}

/** As many cells as are told apart in both directions. */
const GRID_SIZE = 80;
/** How far a session is felt, in cells; few sessions are felt further. */
const KERNEL_RADIUS = 3.6;
/** Less than this of a session is as good as none. */
const MIN_KERNEL_WEIGHT = 0.02;

/** What sessions around a place come to, the nearer the more they count. */
export function computeMeanSurface(
  places: ScatterPositions,
  heights: Float32Array,
  rows: Int32Array,
): MeanSurface {
  const sums = new Float64Array(GRID_SIZE * GRID_SIZE);
  const weights = new Float64Array(GRID_SIZE * GRID_SIZE);
  let count = 0;
  for (const row of rows) {
    const [x, y, height] = [places.x[row] ?? NaN, places.y[row] ?? NaN, heights[row] ?? NaN];
    if (Number.isNaN(x + y + height)) continue;
    const cell = getGridCell(1 - y) * GRID_SIZE + getGridCell(x);
    sums[cell] = (sums[cell] ?? 0) + height;
    weights[cell] = (weights[cell] ?? 0) + 1;
    count += 1;
  }
  const reach =
    KERNEL_RADIUS * Math.max(1, Math.sqrt(GRID_SIZE / Math.max(1, Math.sqrt(count))) / 1.2);
  const kernel = makeGaussianKernel(reach);
  const [blurredSums, blurredWeights] = [blur(sums, kernel), blur(weights, kernel)];
  const values = blurredSums.map((sum, cell) => {
    const weight = blurredWeights[cell] ?? 0;
    return weight > MIN_KERNEL_WEIGHT * (kernel[0] ?? 1) ** 2 ? sum / weight : NaN;
  });
  return { size: GRID_SIZE, values };
}

function getGridCell(place: number): number {
  return Math.min(GRID_SIZE - 1, Math.floor(place * GRID_SIZE));
}

/** Half of a bell, from its middle outwards. */
function makeGaussianKernel(reach: number): Float64Array {
  const length = Math.ceil(3 * reach) + 1;
  return Float64Array.from({ length }, (_, away) => Math.exp(-0.5 * (away / reach) ** 2));
}

/** First along rows, then along columns: the same as both at once, and faster. */
function blur(field: Float64Array, kernel: Float64Array): Float64Array {
  return blurAxis(blurAxis(field, kernel, 1, GRID_SIZE), kernel, GRID_SIZE, 1);
}

function blurAxis(
  field: Float64Array,
  kernel: Float64Array,
  step: number,
  stride: number,
): Float64Array {
  const blurred = new Float64Array(field.length);
  for (let line = 0; line < GRID_SIZE; line++) {
    for (let at = 0; at < GRID_SIZE; at++) {
      let sum = 0;
      for (let other = Math.max(0, at - kernel.length + 1); other < GRID_SIZE; other++) {
        const away = Math.abs(other - at);
        if (away >= kernel.length) break;
        sum += (field[line * stride + other * step] ?? 0) * (kernel[away] ?? 0);
      }
      blurred[line * stride + at * step] = sum;
    }
  }
  return blurred;
}

/** Steps of one colour make lines of equal height seen. */
const CONTOUR_LEVELS = 12;
const SURFACE_ALPHA = 200;

/** A surface as a picture; what is not known stays empty. */
export function rasterizeSurface(
  { size, values }: MeanSurface,
  colours: readonly string[],
  isLow: boolean,
): Raster {
  const pixels = new Uint8ClampedArray(4 * size * size);
  const channels = colours.map(parseRgb);
  values.forEach((value, cell) => {
    if (Number.isNaN(value)) return;
    const height = Math.min(1, Math.max(0, isLow ? 1 - value : value));
    const step =
      Math.min(CONTOUR_LEVELS - 1, Math.floor(height * CONTOUR_LEVELS)) / (CONTOUR_LEVELS - 1);
    const [red = 0, green = 0, blue = 0] = channels[Math.round(step * (colours.length - 1))] ?? [];
    pixels.set([red, green, blue, SURFACE_ALPHA], 4 * cell);
  });
  return { width: size, height: size, pixels };
}
