/** In CSS pixels, or in pixels of an image. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * The visible part of an image: the center as a fraction of width and height, and the zoom relative
 * to the size at which the image fits. Images of different sizes can share a viewport.
 */
export interface Viewport extends Point {
  readonly zoom: number;
}

/** The size of a pane and of the image in it. */
export interface PaneGeometry {
  readonly size: Size;
  readonly imageSize: Size;
}

/** Position of an image in its pane, and CSS pixels per image pixel. */
export interface ImageTransform {
  readonly left: number;
  readonly top: number;
  readonly scale: number;
}

export const FIT_VIEWPORT: Viewport = { x: 0.5, y: 0.5, zoom: 1 };

/** Largest size of an image pixel in CSS pixels. */
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

/** Return the zoom for a number of CSS pixels per image pixel. */
export function zoomForScale(pane: PaneGeometry, scale: number): number {
  return scale / fitScale(pane);
}

/** Zoom around a point of the pane. */
export function zoomAt(
  pane: PaneGeometry,
  viewport: Viewport,
  at: Point,
  factor: number,
): Viewport {
  const fit = fitScale(pane);
  const minZoom = Math.min(1, 1 / fit / currentPixelRatio());
  const maxZoom = Math.max(1, MAX_PIXEL_PX / fit);
  const zoom = Math.min(maxZoom, Math.max(minZoom, viewport.zoom * factor));
  const before = computeTransform(pane, viewport);
  const under = { x: (at.x - before.left) / before.scale, y: (at.y - before.top) / before.scale };
  const scale = fit * zoom;
  return clampViewport(pane, {
    zoom,
    x: (under.x + (pane.size.width / 2 - at.x) / scale) / pane.imageSize.width,
    y: (under.y + (pane.size.height / 2 - at.y) / scale) / pane.imageSize.height,
  });
}

export function panBy(pane: PaneGeometry, viewport: Viewport, dx: number, dy: number): Viewport {
  const scale = fitScale(pane) * viewport.zoom;
  const { x, y, zoom } = clampViewport(pane, viewport);
  return clampViewport(pane, {
    zoom,
    x: x - dx / (pane.imageSize.width * scale),
    y: y - dy / (pane.imageSize.height * scale),
  });
}

/** Return the image pixel at a point of the pane; null outside of the image. */
export function pixelAt(pane: PaneGeometry, viewport: Viewport, at: Point): Point | null {
  const { left, top, scale } = computeTransform(pane, viewport);
  const [x, y] = [Math.floor((at.x - left) / scale), Math.floor((at.y - top) / scale)];
  const { width, height } = pane.imageSize;
  return x >= 0 && y >= 0 && x < width && y < height ? { x, y } : null;
}

/** Keep the image inside its pane, or the pane inside its image. */
function clampViewport(pane: PaneGeometry, { x, y, zoom }: Viewport): Viewport {
  const scale = fitScale(pane) * zoom;
  const { size, imageSize } = pane;
  return {
    zoom,
    x: clampCenter(x, size.width / 2 / (imageSize.width * scale)),
    y: clampCenter(y, size.height / 2 / (imageSize.height * scale)),
  };
}

function clampCenter(center: number, halfSize: number): number {
  return halfSize >= 0.5 ? 0.5 : Math.min(1 - halfSize, Math.max(halfSize, center));
}

function currentPixelRatio(): number {
  return globalThis.devicePixelRatio ?? 1;
}

/** As in the server. */
const TILE_SIZE_PX = 512;

/** A tile and its position in pixels of the image. */
export interface Tile {
  /** How many times the image is halved. */
  readonly level: number;
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Return the coarsest level that is sharp on the screen. */
export function tileLevel(image: Size, deviceScale: number): number {
  const last = Math.max(
    0,
    Math.ceil(Math.log2(Math.max(image.width, image.height) / TILE_SIZE_PX)),
  );
  const wanted = Math.floor(Math.log2(1 / deviceScale) + 1e-9);
  return Math.min(last, Math.max(0, wanted));
}

/** Return the visible tiles of a level, from the center outward. */
export function visibleTiles(
  image: Size,
  paneSize: Size,
  transform: ImageTransform,
  level: number,
): Tile[] {
  const side = TILE_SIZE_PX * 2 ** level;
  const { left, top, scale } = transform;
  const columns = visibleRange(-left / scale, (paneSize.width - left) / scale, side, image.width);
  const rows = visibleRange(-top / scale, (paneSize.height - top) / scale, side, image.height);
  const middle = { x: (columns.first + columns.last) / 2, y: (rows.first + rows.last) / 2 };
  const far = ({ x, y }: Tile): number => Math.hypot(x - middle.x, y - middle.y);
  const tiles: Tile[] = [];
  for (let y = rows.first; y <= rows.last; y++)
    for (let x = columns.first; x <= columns.last; x++) tiles.push(tileAt(image, level, x, y));
  return tiles.sort((one, other) => far(one) - far(other));
}

function tileAt(image: Size, level: number, x: number, y: number): Tile {
  const side = TILE_SIZE_PX * 2 ** level;
  const [left, top] = [x * side, y * side];
  const width = Math.min(side, image.width - left);
  return { level, x, y, left, top, width, height: Math.min(side, image.height - top) };
}

function visibleRange(from: number, to: number, side: number, length: number) {
  const last = Math.ceil(length / side) - 1;
  return {
    first: Math.max(0, Math.floor(from / side)),
    last: Math.min(last, Math.ceil(to / side) - 1),
  };
}
