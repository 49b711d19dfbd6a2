import type { TileResponse } from '../../../api/schemas';
import { parseHexColor } from '../../../charts/points/point-scene';

/** Tiles are squares of this many pixels, as the server draws them. */
const TILE_PX = 256;
/** The value of a pixel without a color. */
const NO_COLOR = 255;
/** Of pixels with the fewest points; the densest are opaque. */
const MIN_ALPHA = 40;
const MAX_CACHED_TILES = 400;
/** A tile is drawn at up to this many times its size before four smaller ones are needed. */
const MAX_STRETCH = 1.5;

/** A tile of the quadtree. */
export interface TileId {
  readonly zoom: number;
  readonly x: number;
  readonly y: number;
}

/** The visible part of a flat layout, whose unit is the radius that contains most points. */
export interface PlaneView {
  /** In CSS pixels. */
  readonly width: number;
  readonly height: number;
  readonly pxPerUnit: number;
  readonly center: { readonly x: number; readonly y: number };
}

/** The color of each value of a column, and of points without one. */
export interface TilePalette {
  readonly plain: readonly [number, number, number];
  readonly colors: readonly (readonly [number, number, number])[] | null;
  readonly isHidden: readonly boolean[];
}

export function createPalette(
  plain: string,
  colors: readonly string[] | null,
  isHidden: readonly boolean[],
): TilePalette {
  return { plain: toRgb(plain), colors: colors?.map(toRgb) ?? null, isHidden };
}

function toRgb(color: string): [number, number, number] {
  const [red = 0, green = 0, blue = 0] = parseHexColor(color);
  return [red, green, blue];
}

type TileImage = OffscreenCanvas;

/** Painted tiles by their position; the least recently drawn are dropped. */
export class TileCache {
  /** Null while a tile is being loaded. */
  readonly #tiles = new Map<string, TileImage | null>();

  /** Return whether a tile is neither there nor being loaded, and mark it as being loaded. */
  reserve(id: TileId): boolean {
    if (this.#tiles.has(toKey(id))) return false;
    this.#tiles.set(toKey(id), null);
    return true;
  }

  put(id: TileId, image: TileImage): void {
    this.#tiles.set(toKey(id), image);
    for (const key of this.#tiles.keys()) {
      if (this.#tiles.size <= MAX_CACHED_TILES) break;
      this.#tiles.delete(key);
    }
  }

  /** Forget a tile that could not be loaded. */
  release(id: TileId): void {
    if (!this.find(id)) this.#tiles.delete(toKey(id));
  }

  find(id: TileId): TileImage | null {
    const key = toKey(id);
    const image = this.#tiles.get(key) ?? null;
    if (image) {
      this.#tiles.delete(key);
      this.#tiles.set(key, image);
    }
    return image;
  }
}

function toKey({ zoom, x, y }: TileId): string {
  return `${zoom}/${x}/${y}`;
}

/** Return the level whose tiles have about the resolution of the screen. */
export function chooseZoom(view: PlaneView, extent: number, maxZoom: number): number {
  const rootPx = 2 * extent * view.pxPerUnit;
  const zoom = Math.ceil(Math.log2(rootPx / TILE_PX / MAX_STRETCH));
  return Math.min(maxZoom, Math.max(0, zoom));
}

/** Return the tiles that are visible, those in the center first, and those around them. */
export function listTiles(
  view: PlaneView,
  extent: number,
  maxZoom: number,
): { readonly needed: TileId[]; readonly spare: TileId[] } {
  const zoom = chooseZoom(view, extent, maxZoom);
  const [needed, spare]: [TileId[], TileId[]] = [[], []];
  const side = (2 * extent) / 2 ** zoom;
  const last = 2 ** zoom - 1;
  const toColumn = (x: number): number => Math.floor((x + extent) / side);
  const toLine = (y: number): number => Math.floor((extent - y) / side);
  const [halfWidth, halfHeight] = [
    view.width / 2 / view.pxPerUnit,
    view.height / 2 / view.pxPerUnit,
  ];
  const [left, right] = [toColumn(view.center.x - halfWidth), toColumn(view.center.x + halfWidth)];
  const [top, bottom] = [toLine(view.center.y + halfHeight), toLine(view.center.y - halfHeight)];
  for (let y = Math.max(0, top - 1); y <= Math.min(last, bottom + 1); y++) {
    for (let x = Math.max(0, left - 1); x <= Math.min(last, right + 1); x++) {
      const isVisible = x >= left && x <= right && y >= top && y <= bottom;
      (isVisible ? needed : spare).push({ zoom, x, y });
    }
  }
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  const distance = (id: TileId): number => Math.hypot(id.x - middle.x, id.y - middle.y);
  needed.sort((a, b) => distance(a) - distance(b));
  return { needed, spare };
}

/** Color the pixels of a tile; their opacity is the density. */
export function paintTile({ density, colors }: TileResponse, palette: TilePalette): TileImage {
  const image = new OffscreenCanvas(TILE_PX, TILE_PX);
  const drawing = image.getContext('2d');
  const pixels = new ImageData(TILE_PX, TILE_PX);
  const { data } = pixels;
  for (let pixel = 0; pixel < density.length; pixel++) {
    const shade = density[pixel] ?? 0;
    const code = colors ? (colors[pixel] ?? NO_COLOR) : NO_COLOR;
    if (shade === 0 || palette.isHidden[code]) continue;
    const [red, green, blue] = palette.colors?.[code] ?? palette.plain;
    data[4 * pixel] = red;
    data[4 * pixel + 1] = green;
    data[4 * pixel + 2] = blue;
    data[4 * pixel + 3] = MIN_ALPHA + (shade * (255 - MIN_ALPHA)) / 255;
  }
  drawing?.putImageData(pixels, 0, 0);
  return image;
}

/** Draw the visible tiles, or parts of larger ones where they are missing; return whether none is. */
export function drawTiles(
  drawing: CanvasRenderingContext2D,
  view: PlaneView,
  extent: number,
  maxZoom: number,
  cache: TileCache,
): boolean {
  const { needed } = listTiles(view, extent, maxZoom);
  let isComplete = true;
  for (const id of needed) {
    const side = ((2 * extent) / 2 ** id.zoom) * view.pxPerUnit;
    const left = view.width / 2 + (-extent - view.center.x) * view.pxPerUnit + id.x * side;
    const top = view.height / 2 - (extent - view.center.y) * view.pxPerUnit + id.y * side;
    // Whole pixels, so that no gaps show between tiles.
    const [x, y] = [Math.round(left), Math.round(top)];
    const [width, height] = [Math.round(left + side) - x, Math.round(top + side) - y];
    for (let depth = 0; depth <= id.zoom; depth++) {
      const image = cache.find({ zoom: id.zoom - depth, x: id.x >> depth, y: id.y >> depth });
      if (depth === 0 && !image) isComplete = false;
      if (!image) continue;
      const part = TILE_PX / 2 ** depth;
      const mask = 2 ** depth - 1;
      const [sx, sy] = [(id.x & mask) * part, (id.y & mask) * part];
      drawing.drawImage(image, sx, sy, part, part, x, y, width, height);
      break;
    }
  }
  return isComplete;
}
