import { interpolateColor, RUN_COLORS } from '../../lib/colors';
import type { Orbit, Projection } from '../webgl/orbit-camera';

/** Positions of points: `x y z` of each, most of them in the unit sphere. NaN for no position. */
export interface PointPositions {
  readonly count: number;
  readonly current: Float32Array;
  /** Where they move from; null if they do not move. */
  readonly previous: Float32Array | null;
}

/** Images of points on one sheet, row by row from the upper left. */
export interface SpriteSheet {
  readonly image: ImageBitmap;
  /** The row of the first image, and the number of images. */
  readonly first: number;
  readonly count: number;
  readonly columns: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
}

/** Appearance of each point. */
export interface PointAttributes {
  /** Four bytes per point. Alpha is 0 for hidden and 255 for highlighted points. */
  readonly rgba: Uint8Array;
  /** From 0 to 255, relative to the largest; null if all have the same size. */
  readonly sizes: Uint8Array | null;
}

/** What the renderer draws. */
export interface PointScene {
  readonly positions: PointPositions;
  /** Progress of the transition from the previous positions, from 0 to 1. */
  readonly progress: number;
  readonly attributes: PointAttributes;
  readonly spriteSheets: readonly SpriteSheet[];
  /** Width of a frame around images in the color of the point, in CSS pixels; 0 by default. */
  readonly spriteFrame?: number;
  readonly orbit: Orbit;
  readonly projection: Projection;
  /** In CSS pixels. */
  readonly pointSize: number;
  /** Blend points, so that dense regions are darker. */
  readonly isTranslucent: boolean;
  /** Fade points that are farther away. */
  readonly hasFog: boolean;
  readonly background: string;
  readonly width: number;
  readonly height: number;
  /** While something moves, a part of the points is drawn to keep the frame rate. */
  readonly isMoving: boolean;
}

/** Draws points on a canvas. */
export interface PointRenderer {
  readonly isSoftware: boolean;
  render(scene: PointScene): void;
  /** Return the canvas when all points are drawn. */
  capture(): Promise<HTMLCanvasElement>;
  dispose(): void;
}

/** Coordinates by axis, of all rows or of some. */
interface LayoutPlaces {
  readonly rows: Int32Array | null;
  readonly coordinates: readonly Float32Array[];
}

/** Center and radius by which a layout is normalized. */
export interface BoundingSphere {
  readonly center: readonly number[];
  readonly radius: number;
}

/** The radius contains this fraction of the points, so that outliers do not shrink the others. */
const RADIUS_QUANTILE = 0.995;
const MAX_MEASURED_POINTS = 20_000;

export function computeBounds({ coordinates }: LayoutPlaces): BoundingSphere {
  const center = coordinates.map(computeMean);
  return { center, radius: computeRadius(coordinates, center) || 1 };
}

/** Return `x y z` for each of `count` rows, NaN for rows that the layout does not have. */
export function normalizePositions(
  { rows, coordinates }: LayoutPlaces,
  count: number,
  bounds: BoundingSphere,
): Float32Array {
  const positions = new Float32Array(3 * count).fill(rows ? NaN : 0);
  if (rows) for (const row of rows) positions.fill(0, 3 * row, 3 * row + 3);
  coordinates.slice(0, 3).forEach((column, axis) => {
    const center = bounds.center[axis] ?? 0;
    for (let index = 0; index < column.length; index++) {
      const row = rows ? (rows[index] ?? 0) : index;
      positions[3 * row + axis] = ((column[index] ?? 0) - center) / bounds.radius;
    }
  });
  return positions;
}

function computeMean(column: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < column.length; index++) sum += column[index] ?? 0;
  return column.length > 0 ? sum / column.length : 0;
}

function computeRadius(places: readonly Float32Array[], center: readonly number[]): number {
  const count = places[0]?.length ?? 0;
  const stride = Math.max(1, Math.floor(count / MAX_MEASURED_POINTS));
  const squares = new Float32Array(Math.ceil(count / stride));
  places.forEach((column, axis) => {
    const middle = center[axis] ?? 0;
    for (let index = 0; index < squares.length; index++) {
      squares[index] = (squares[index] ?? 0) + ((column[index * stride] ?? 0) - middle) ** 2;
    }
  });
  const sorted = squares.sort();
  return Math.sqrt(sorted[Math.floor(RADIUS_QUANTILE * (sorted.length - 1))] ?? 1);
}

/** More points are drawn in random order, so that any prefix is a fair sample. */
const SHUFFLE_ABOVE_POINTS = 40_000;

/** Return the rows from `first` on, shuffled if they are many; the same order each time. */
export function createDrawOrder(first: number, count: number): Uint32Array {
  const order = new Uint32Array(count);
  for (let index = 0; index < count; index++) order[index] = first + index;
  if (count > SHUFFLE_ABOVE_POINTS) shuffle(order);
  return order;
}

function shuffle(order: Uint32Array): void {
  let seed = 0x2545f491;
  for (let index = order.length - 1; index > 0; index--) {
    // xorshift
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    const other = (seed >>> 0) % (index + 1);
    const row = order[index] ?? 0;
    order[index] = order[other] ?? 0;
    order[other] = row;
  }
}

/** A call cannot have a million arguments. */
const ENCODE_CHUNK_BYTES = 8192;

/**
 * Encode rows for the server: bit `row & 7` of byte `row >> 3`, in base64; null for all rows.
 *
 * @param mask One byte per row, 0 or 1.
 */
export function encodeMask(mask: Uint8Array | null): string | null {
  if (!mask) return null;
  const bytes = new Uint8Array((mask.length + 7) >> 3);
  for (let row = 0; row < mask.length; row++) {
    if (mask[row]) bytes[row >> 3] = (bytes[row >> 3] ?? 0) | (1 << (row & 7));
  }
  let text = '';
  for (let start = 0; start < bytes.length; start += ENCODE_CHUNK_BYTES) {
    text += String.fromCharCode(...bytes.subarray(start, start + ENCODE_CHUNK_BYTES));
  }
  return btoa(text);
}

/** How images are laid out on tiles, each with `per_tile` of them. */
interface SpriteLayout {
  readonly tiles: number;
  readonly per_tile: number;
  readonly tile_columns: number;
  readonly cell_width: number;
  readonly cell_height: number;
}

/** Load images tile by tile; `onload` is called with all sheets so far. */
export async function loadSpriteSheets(
  layout: SpriteLayout,
  rows: number,
  fetchTile: (tile: number) => Promise<Blob>,
  signal: AbortSignal,
  onload: (sheets: readonly SpriteSheet[]) => void,
): Promise<void> {
  let sheets: readonly SpriteSheet[] = [];
  for (let tile = 0; tile < layout.tiles; tile++) {
    const file = await fetchTile(tile);
    const image = await createImageBitmap(file, { premultiplyAlpha: 'none' });
    if (signal.aborted) return;
    const first = tile * layout.per_tile;
    const sheet = {
      ...{ image, first, count: Math.min(layout.per_tile, rows - first) },
      ...{ columns: layout.tile_columns },
      ...{ cellWidth: layout.cell_width, cellHeight: layout.cell_height },
    };
    sheets = [...sheets, sheet];
    onload(sheets);
  }
}

/** Color of points without a value, and of all points if nothing is colored. */
export const MISSING_COLOR = '#8a8f98';
export const UNIFORM_COLOR = '#5f8dd3';
const RAMP_SIZE = 256;
const DIVERGING_LOW = '#2f6fd0';
const DIVERGING_MIDDLE = '#9a9aa6';
const DIVERGING_HIGH = '#d0482f';

/** Opacity of points; if some are highlighted, the others are dimmed. */
export const ALPHA = { hidden: 0, dimmed: 70, normal: 200, highlighted: 255 } as const;

type Rgb = readonly [number, number, number];

export function parseHexColor(color: string): Rgb {
  const channel = (start: number): number => parseInt(color.slice(start, start + 2), 16);
  return [channel(1), channel(3), channel(5)];
}

/** Colors repeat if there are more values than colors. */
export function categoryColorOf(code: number): string {
  return code < 0 ? MISSING_COLOR : (RUN_COLORS[code % RUN_COLORS.length] ?? UNIFORM_COLOR);
}

/** Returns the color of a position from 0 to 1. */
export type ColorRamp = (position: number) => string;

export const gradientRamp: ColorRamp = interpolateColor;

export const divergingRamp: ColorRamp = (position) => {
  const [from, to] =
    position < 0.5 ? [DIVERGING_LOW, DIVERGING_MIDDLE] : [DIVERGING_MIDDLE, DIVERGING_HIGH];
  const fraction = position < 0.5 ? 2 * position : 2 * position - 1;
  const channels = parseHexColor(from).map(
    (low, index) => low + ((parseHexColor(to)[index] ?? 0) - low) * fraction,
  );
  return `#${channels.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;
};

/** Return the numbers at the ends of a scale. A diverging scale has zero in the middle. */
export function valueRange(numbers: Float32Array, isDiverging: boolean): readonly [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (let row = 0; row < numbers.length; row++) {
    const value = numbers[row] ?? NaN;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  if (!isDiverging || low >= 0 || high <= 0) return [low, high];
  const limit = Math.max(-low, high);
  return [-limit, limit];
}

/** Return red, green, blue and alpha as one number, in the byte order of this machine. */
function packRgba(color: string): number {
  const [red, green, blue] = parseHexColor(color);
  return new Uint32Array(Uint8Array.of(red, green, blue, ALPHA.normal).buffer)[0] ?? 0;
}

/** Return four bytes (RGBA) per row. Rows without a number are gray. */
export function computeColorNumbers(
  numbers: Float32Array,
  ramp: ColorRamp,
  [low, high]: readonly [number, number],
): Uint8Array {
  const colors = Uint32Array.from({ length: RAMP_SIZE }, (_, index) =>
    packRgba(ramp(index / (RAMP_SIZE - 1))),
  );
  const scale = high > low ? (RAMP_SIZE - 1) / (high - low) : 0;
  const rgba = new Uint32Array(numbers.length).fill(packRgba(MISSING_COLOR));
  for (let row = 0; row < rgba.length; row++) {
    const color = colors[Math.round(((numbers[row] ?? NaN) - low) * scale)];
    if (color !== undefined) rgba[row] = color;
  }
  return new Uint8Array(rgba.buffer);
}

/** Return four bytes (RGBA) per row, by the number of its value; -1 is gray. */
export function computeColorCodes(
  codes: Int32Array,
  palette: readonly string[] = RUN_COLORS,
): Uint8Array {
  const colors = Uint32Array.from(palette, packRgba);
  const rgba = new Uint32Array(codes.length).fill(packRgba(MISSING_COLOR));
  for (let row = 0; row < rgba.length; row++) {
    const color = colors[(codes[row] ?? -1) % colors.length];
    if (color !== undefined) rgba[row] = color;
  }
  return new Uint8Array(rgba.buffer);
}

export function colorUniform(count: number): Uint8Array {
  return new Uint8Array(new Uint32Array(count).fill(packRgba(UNIFORM_COLOR)).buffer);
}

/** Return the colors with the opacity of each row. */
export function withAlpha(
  rgba: Uint8Array,
  visible: Uint8Array,
  highlighted: Uint8Array | null,
): Uint8Array {
  const result = rgba.slice();
  const others = highlighted ? ALPHA.dimmed : ALPHA.normal;
  for (let row = 0; row < visible.length; row++) {
    const alpha = highlighted?.[row] ? ALPHA.highlighted : others;
    result[4 * row + 3] = visible[row] ? alpha : ALPHA.hidden;
  }
  return result;
}
