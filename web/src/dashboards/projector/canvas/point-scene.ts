import type { Orbit, Projection } from '../../../charts/webgl/orbit-camera';
import type { LayoutResponse } from '../schemas';

/** Where points are: `x y z` of each, within about one radius of the middle. */
export interface PointPositions {
  readonly count: number;
  readonly current: Float32Array;
  /** Where they come from; null where they do not move. */
  readonly previous: Float32Array | null;
}

/** Pictures of points on one sheet, from the upper left, row by row. */
export interface SpriteSheet {
  readonly image: ImageBitmap | HTMLImageElement;
  /** The point whose picture is the first, and how many there are. */
  readonly first: number;
  readonly count: number;
  readonly columns: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
}

/** How each point looks. */
export interface PointAttributes {
  /** Red, green, blue, and how much of it is seen: 0 for a hidden one, 255 for one that stands out. */
  readonly rgba: Uint8Array;
  /** From 0 to 255 as a share of the largest; null where all are alike. */
  readonly sizes: Uint8Array | null;
}

/** All that the picture depends on. */
export interface PointScene {
  readonly positions: PointPositions;
  /** How far points are on their way, from 0 to 1. */
  readonly progress: number;
  readonly attributes: PointAttributes;
  readonly spriteSheets: readonly SpriteSheet[];
  readonly orbit: Orbit;
  readonly lens: Projection;
  /** In pixels of the page. */
  readonly pointSize: number;
  /** Points let each other through, so that many are darker than few. */
  readonly isTranslucent: boolean;
  /** What is further away is paler. */
  readonly hasFog: boolean;
  readonly background: string;
  readonly width: number;
  readonly height: number;
  /** While something moves, being quick is more than being complete. */
  readonly isMoving: boolean;
}

/** Draws points on a canvas. */
export interface PointRenderer {
  readonly isSoftware: boolean;
  render(shown: PointScene): void;
  /** The picture, once all of it is there. */
  capture(): Promise<HTMLCanvasElement>;
  dispose(): void;
}

type LayoutPlaces = Pick<LayoutResponse, 'rows' | 'places'>;

/** What a layout is moved and divided by, so that it is seen as a whole. */
export interface BoundingSphere {
  readonly center: readonly number[];
  readonly radius: number;
}

/** Of all distances from the middle this share decides how far out the frame reaches. */
const RADIUS_QUANTILE = 0.995;
const MAX_MEASURED_POINTS = 20_000;

export function computeBounds({ places }: LayoutPlaces): BoundingSphere {
  const centre = places.map(columnMean);
  return { center: centre, radius: computeRadius(places, centre) || 1 };
}

/** `x y z` for each of `count` rows, within about one radius; rows without a place are nowhere. */
export function normalizePositions(
  { rows, places }: LayoutPlaces,
  count: number,
  frame: BoundingSphere,
): Float32Array {
  const laid = new Float32Array(3 * count).fill(rows ? NaN : 0);
  if (rows) for (const row of rows) laid.fill(0, 3 * row, 3 * row + 3);
  places.slice(0, 3).forEach((column, axis) => {
    const middle = frame.center[axis] ?? 0;
    for (let at = 0; at < column.length; at++) {
      const row = rows ? (rows[at] ?? 0) : at;
      laid[3 * row + axis] = ((column[at] ?? 0) - middle) / frame.radius;
    }
  });
  return laid;
}

function columnMean(column: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < column.length; at++) sum += column[at] ?? 0;
  return column.length > 0 ? sum / column.length : 0;
}

/** A few far away points must not make all others a dot. */
function computeRadius(places: readonly Float32Array[], centre: readonly number[]): number {
  const count = places[0]?.length ?? 0;
  const stride = Math.max(1, Math.floor(count / MAX_MEASURED_POINTS));
  const squares = new Float32Array(Math.ceil(count / stride));
  places.forEach((column, axis) => {
    const middle = centre[axis] ?? 0;
    for (let at = 0; at < squares.length; at++) {
      squares[at] = (squares[at] ?? 0) + ((column[at * stride] ?? 0) - middle) ** 2;
    }
  });
  const sorted = squares.sort();
  return Math.sqrt(sorted[Math.floor(RADIUS_QUANTILE * (sorted.length - 1))] ?? 1);
}

/** More than these are drawn in an order in which any first part is a fair sample. */
const SHUFFLE_ABOVE_POINTS = 40_000;

/** The places from `first` on, shuffled if they are many; the same each time. */
export function createDrawOrder(first: number, count: number): Uint32Array {
  const order = new Uint32Array(count);
  for (let at = 0; at < count; at++) order[at] = first + at;
  if (count > SHUFFLE_ABOVE_POINTS) shuffle(order);
  return order;
}

function shuffle(order: Uint32Array): void {
  let seed = 0x2545f491;
  for (let at = order.length - 1; at > 0; at--) {
    // xorshift
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    const other = (seed >>> 0) % (at + 1);
    const kept = order[at] ?? 0;
    order[at] = order[other] ?? 0;
    order[other] = kept;
  }
}
