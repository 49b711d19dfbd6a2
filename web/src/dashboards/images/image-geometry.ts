/** Pixels of the page. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** How boxes of one size fill a place, row by row. */
export interface GridLayout extends Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Spacing {
  readonly gap: number;
  /** Height of what stands above each box and belongs to it. */
  readonly captionHeight: number;
  /** Boxes are never less wide than this; what does not fit is scrolled to. */
  readonly minWidth: number;
  /** Pictures are never less wide than this, either. */
  readonly minImageWidth: number;
}

/** Trying more columns than anybody could tell apart would only take time. */
const MAX_COLUMNS = 64;

/**
 * The number of columns with which `count` pictures of one shape become largest. The size is that
 * of a box, its caption included.
 */
export function layoutGrid(
  count: number,
  aspect: number,
  place: Size,
  spacing: Spacing,
): GridLayout {
  return findBestGrid(count, place, spacing, (box) => Math.min(box.width, box.height * aspect));
}

/** The same for boxes that each hold several pictures, which are arranged in turn. */
export function layoutGroups(
  count: number,
  inside: { readonly count: number; readonly aspect: number; readonly gap: number },
  place: Size,
  spacing: Spacing,
): GridLayout {
  const within = { gap: inside.gap, captionHeight: 0, minWidth: 1, minImageWidth: 1 };
  return findBestGrid(count, place, spacing, (box) => {
    const { width, height } = layoutGrid(inside.count, inside.aspect, box, within);
    return Math.min(width, height * inside.aspect);
  });
}

function findBestGrid(
  count: number,
  place: Size,
  spacing: Spacing,
  worth: (box: Size) => number,
): GridLayout {
  let best: GridLayout | null = null;
  let most = -Infinity;
  for (let columns = 1; columns <= Math.min(count, MAX_COLUMNS); columns++) {
    const found = divideEvenly(count, columns, place, spacing);
    if (columns > 1 && found.width < spacing.minWidth) break;
    const value = worth({ width: found.width, height: found.height - spacing.captionHeight });
    if (value > most) [best, most] = [found, value];
  }
  return best && most >= spacing.minImageWidth ? best : scrollableGrid(count, place, spacing);
}

function divideEvenly(count: number, columns: number, place: Size, { gap }: Spacing): GridLayout {
  const rows = Math.ceil(count / columns);
  return {
    columns,
    rows,
    width: (place.width - gap * (columns - 1)) / columns,
    height: (place.height - gap * (rows - 1)) / rows,
  };
}

/** As many columns as are wide enough, with rows as high as the boxes are wide. */
function scrollableGrid(count: number, place: Size, spacing: Spacing): GridLayout {
  const { gap, captionHeight, minWidth } = spacing;
  const fitting = Math.floor((place.width + gap) / (minWidth + gap));
  const columns = Math.max(1, Math.min(count, fitting));
  const width = Math.max(1, (place.width - gap * (columns - 1)) / columns);
  const height = Math.min(width + captionHeight, Math.max(place.height, minWidth));
  return { columns, rows: Math.ceil(count / columns), width, height };
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * What is seen of a picture: the spot in the middle, as a share of its width and height, and how
 * often it is larger than when all of it fits. Pictures of any size can share one.
 */
export interface Viewport extends Point {
  readonly zoom: number;
}

/** A picture of a size in a place on the page. */
export interface PaneGeometry {
  readonly size: Size;
  readonly imageSize: Size;
}

/** Where the picture lies in its place, and how many pixels of the page each of its own takes. */
export interface ImageTransform {
  readonly left: number;
  readonly top: number;
  readonly scale: number;
}

export const FIT_VIEWPORT: Viewport = { x: 0.5, y: 0.5, zoom: 1 };

/** Pixels of the page that one of the picture takes at most. */
const MAX_PIXEL_PX = 96;

export function fitScale({ size, imageSize }: PaneGeometry): number {
  return Math.min(size.width / imageSize.width, size.height / imageSize.height);
}

export function computeTransform(pane: PaneGeometry, viewport: Viewport): ImageTransform {
  const scale = fitScale(pane) * viewport.zoom;
  const { size, imageSize } = pane;
  const { x, y } = clampViewport(pane, viewport);
  return {
    scale,
    left: size.width / 2 - x * imageSize.width * scale,
    top: size.height / 2 - y * imageSize.height * scale,
  };
}

/** The zoom at which a pixel of the picture takes `scale` pixels of the page. */
export function zoomForScale(pane: PaneGeometry, scale: number): number {
  return scale / fitScale(pane);
}

/** Larger or smaller around a spot of the place, which stays where it is. */
export function zoomAt(
  pane: PaneGeometry,
  viewport: Viewport,
  at: Point,
  factor: number,
): Viewport {
  const fit = fitScale(pane);
  const smallest = Math.min(1, 1 / fit / currentPixelRatio());
  const largest = Math.max(1, MAX_PIXEL_PX / fit);
  const zoom = Math.min(largest, Math.max(smallest, viewport.zoom * factor));
  const before = computeTransform(pane, viewport);
  const under = { x: (at.x - before.left) / before.scale, y: (at.y - before.top) / before.scale };
  const scale = fit * zoom;
  return clampViewport(pane, {
    zoom,
    x: (under.x + (pane.size.width / 2 - at.x) / scale) / pane.imageSize.width,
    y: (under.y + (pane.size.height / 2 - at.y) / scale) / pane.imageSize.height,
  });
}

/** Moved along with a hand. */
export function panBy(pane: PaneGeometry, viewport: Viewport, dx: number, dy: number): Viewport {
  const scale = fitScale(pane) * viewport.zoom;
  const { x, y, zoom } = clampViewport(pane, viewport);
  return clampViewport(pane, {
    zoom,
    x: x - dx / (pane.imageSize.width * scale),
    y: y - dy / (pane.imageSize.height * scale),
  });
}

/** The pixel of the picture under a spot of the place; null beside the picture. */
export function pixelAt(pane: PaneGeometry, viewport: Viewport, at: Point): Point | null {
  const { left, top, scale } = computeTransform(pane, viewport);
  const [x, y] = [Math.floor((at.x - left) / scale), Math.floor((at.y - top) / scale)];
  const { width, height } = pane.imageSize;
  return x >= 0 && y >= 0 && x < width && y < height ? { x, y } : null;
}

/** Without emptiness at a side while there is more of the picture at the other. */
function clampViewport(pane: PaneGeometry, { x, y, zoom }: Viewport): Viewport {
  const scale = fitScale(pane) * zoom;
  const { size, imageSize } = pane;
  return {
    zoom,
    x: clampCenter(x, size.width / 2 / (imageSize.width * scale)),
    y: clampCenter(y, size.height / 2 / (imageSize.height * scale)),
  };
}

function clampCenter(middle: number, half: number): number {
  return half >= 0.5 ? 0.5 : Math.min(1 - half, Math.max(half, middle));
}

function currentPixelRatio(): number {
  return globalThis.devicePixelRatio ?? 1;
}

/** Side of a tile in its own pixels, as the server cuts them. */
export const TILE_SIZE_PX = 512;

/** Larger pictures than this come in tiles; a browser decodes smaller ones without a hitch. */
const MAX_UNTILED_PIXELS = 16_000_000;
const MAX_UNTILED_SIDE_PX = 8192;

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
  return width * height > MAX_UNTILED_PIXELS || Math.max(width, height) > MAX_UNTILED_SIDE_PX;
}

/** The level whose pixels are just not larger than those of the screen. */
export function tileLevel(picture: Size, deviceScale: number): number {
  const last = Math.max(
    0,
    Math.ceil(Math.log2(Math.max(picture.width, picture.height) / TILE_SIZE_PX)),
  );
  const wanted = Math.floor(Math.log2(1 / deviceScale) + 1e-9);
  return Math.min(last, Math.max(0, wanted));
}

/** The tiles of a level that are seen in a place, those near its middle first. */
export function visibleTiles(
  picture: Size,
  place: Size,
  lie: ImageTransform,
  level: number,
): Tile[] {
  const side = TILE_SIZE_PX * 2 ** level;
  const { left, top, scale } = lie;
  const columns = visibleRange(-left / scale, (place.width - left) / scale, side, picture.width);
  const rows = visibleRange(-top / scale, (place.height - top) / scale, side, picture.height);
  const middle = { x: (columns.first + columns.last) / 2, y: (rows.first + rows.last) / 2 };
  const far = ({ x, y }: Tile): number => Math.hypot(x - middle.x, y - middle.y);
  const tiles: Tile[] = [];
  for (let y = rows.first; y <= rows.last; y++)
    for (let x = columns.first; x <= columns.last; x++) tiles.push(tileAt(picture, level, x, y));
  return tiles.sort((one, other) => far(one) - far(other));
}

function tileAt(picture: Size, level: number, x: number, y: number): Tile {
  const side = TILE_SIZE_PX * 2 ** level;
  const [left, top] = [x * side, y * side];
  const width = Math.min(side, picture.width - left);
  return { level, x, y, left, top, width, height: Math.min(side, picture.height - top) };
}

function visibleRange(from: number, to: number, side: number, length: number) {
  const last = Math.ceil(length / side) - 1;
  return {
    first: Math.max(0, Math.floor(from / side)),
    last: Math.min(last, Math.ceil(to / side) - 1),
  };
}
