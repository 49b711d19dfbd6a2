import type { Size } from './arrange';
import type { Lie } from './viewport';

/** Side of a tile in its own pixels, as the server cuts them. */
export const TILE = 512;

/** Larger pictures than this come in tiles; a browser decodes smaller ones without a hitch. */
const MOST_PIXELS = 16_000_000;
const LONGEST_SIDE = 8192;

/** A part of a picture, with its place in pixels of the picture. */
export interface Tile {
  /** 0: as it was logged; each further level is half as large. */
  readonly level: number;
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export function needsTiles({ width, height }: Size): boolean {
  return width * height > MOST_PIXELS || Math.max(width, height) > LONGEST_SIDE;
}

/** The level whose pixels are just not larger than those of the screen. */
export function levelFor(picture: Size, deviceScale: number): number {
  const last = Math.max(0, Math.ceil(Math.log2(Math.max(picture.width, picture.height) / TILE)));
  const wanted = Math.floor(Math.log2(1 / deviceScale) + 1e-9);
  return Math.min(last, Math.max(0, wanted));
}

/** The tiles of a level that are seen in a place, those near its middle first. */
export function tilesIn(picture: Size, place: Size, lie: Lie, level: number): Tile[] {
  const side = TILE * 2 ** level;
  const { left, top, scale } = lie;
  const columns = seen(-left / scale, (place.width - left) / scale, side, picture.width);
  const rows = seen(-top / scale, (place.height - top) / scale, side, picture.height);
  const middle = { x: (columns.first + columns.last) / 2, y: (rows.first + rows.last) / 2 };
  const far = ({ x, y }: Tile): number => Math.hypot(x - middle.x, y - middle.y);
  const tiles: Tile[] = [];
  for (let y = rows.first; y <= rows.last; y++)
    for (let x = columns.first; x <= columns.last; x++) tiles.push(tileAt(picture, level, x, y));
  return tiles.sort((one, other) => far(one) - far(other));
}

function tileAt(picture: Size, level: number, x: number, y: number): Tile {
  const side = TILE * 2 ** level;
  const [left, top] = [x * side, y * side];
  const width = Math.min(side, picture.width - left);
  return { level, x, y, left, top, width, height: Math.min(side, picture.height - top) };
}

function seen(from: number, to: number, side: number, length: number) {
  const last = Math.ceil(length / side) - 1;
  return {
    first: Math.max(0, Math.floor(from / side)),
    last: Math.min(last, Math.ceil(to / side) - 1),
  };
}
