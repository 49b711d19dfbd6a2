import type { ImageInfo } from '../../api/schemas';

/** A grid of boxes of one size. */
export interface GridLayout extends Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Spacing {
  readonly gap: number;
  /** Height of the caption of a box, which is part of the box. */
  readonly captionHeight: number;
  /** Smallest width of a box. If boxes do not fit, the grid scrolls. */
  readonly minWidth: number;
  /** Smallest width of an image in a box. */
  readonly minImageWidth: number;
}

const MAX_COLUMNS = 64;

/** Return the grid in which `count` images of one aspect ratio are largest. */
export function layoutGrid(
  count: number,
  aspect: number,
  space: Size,
  spacing: Spacing,
): GridLayout {
  return findBestGrid(count, space, spacing, (box) => Math.min(box.width, box.height * aspect));
}

/** Return the grid of groups in which the images of the groups are largest. */
export function layoutGroups(
  count: number,
  inside: { readonly count: number; readonly aspect: number; readonly gap: number },
  space: Size,
  spacing: Spacing,
): GridLayout {
  const within = { gap: inside.gap, captionHeight: 0, minWidth: 1, minImageWidth: 1 };
  return findBestGrid(count, space, spacing, (box) => {
    const { width, height } = layoutGrid(inside.count, inside.aspect, box, within);
    return Math.min(width, height * inside.aspect);
  });
}

function findBestGrid(
  count: number,
  space: Size,
  spacing: Spacing,
  measureImage: (box: Size) => number,
): GridLayout {
  let best: GridLayout | null = null;
  let largest = -Infinity;
  for (let columns = 1; columns <= Math.min(count, MAX_COLUMNS); columns++) {
    const found = divideEvenly(count, columns, space, spacing);
    if (columns > 1 && found.width < spacing.minWidth) break;
    const size = measureImage({ width: found.width, height: found.height - spacing.captionHeight });
    if (size > largest) [best, largest] = [found, size];
  }
  return best && largest >= spacing.minImageWidth ? best : scrollableGrid(count, space, spacing);
}

function divideEvenly(count: number, columns: number, space: Size, { gap }: Spacing): GridLayout {
  const rows = Math.ceil(count / columns);
  return {
    columns,
    rows,
    width: (space.width - gap * (columns - 1)) / columns,
    height: (space.height - gap * (rows - 1)) / rows,
  };
}

/** Return a grid of boxes of the smallest width, which scrolls. */
function scrollableGrid(count: number, space: Size, spacing: Spacing): GridLayout {
  const { gap, captionHeight, minWidth } = spacing;
  const fitting = Math.floor((space.width + gap) / (minWidth + gap));
  const columns = Math.max(1, Math.min(count, fitting));
  const width = Math.max(1, (space.width - gap * (columns - 1)) / columns);
  const height = Math.min(width + captionHeight, Math.max(space.height, minWidth));
  return { columns, rows: Math.ceil(count / columns), width, height };
}

/** Images of a step that are shown together; the viewer shows the others one by one. */
const MAX_IMAGES_PER_STEP = 256;
/** Images of a step in a static export. */
const MAX_EXPORTED_IMAGES = 16;

export const IMAGE_GAP_PX = 2;
const MIN_TILE_WIDTH_PX = 20;
const MIN_TILE_IMAGE_WIDTH_PX = 12;
/** Largest size of an image pixel in CSS pixels. */
const MAX_THUMBNAIL_PIXEL_PX = 48;

/** The layout of the images of one step. */
export interface TileLayout {
  readonly columns: number;
  readonly tile: Size;
}

/** Return the images that are shown: one, or the first ones if `part` is null. */
export function selectImages(
  parts: readonly ImageInfo[],
  part: number | null,
  hasOriginals = true,
): readonly ImageInfo[] {
  if (part === null)
    return parts.slice(0, hasOriginals ? MAX_IMAGES_PER_STEP : MAX_EXPORTED_IMAGES);
  const selected = parts.find((info) => info.part === part) ?? parts.at(-1);
  return selected ? [selected] : [];
}

/** For videos whose size is unknown. */
const DEFAULT_VIDEO_SIZE: Size = { width: 640, height: 360 };

/** Return the size of an image, or a default if it is unknown. */
export function displaySize({ width, height, video }: ImageInfo): Size {
  if (width > 0 && height > 0) return { width, height };
  return video ? DEFAULT_VIDEO_SIZE : { width: 1, height: 1 };
}

/** Return width / height of the first valid image. */
export function getAspectRatio(parts: readonly ImageInfo[]): number {
  const found = parts.find(({ width, video }) => width > 0 || video);
  if (!found) return 1;
  const { width, height } = displaySize(found);
  return width / height;
}

/** Lay out the images of a step. With `stretch`, tiles fill the space and not only their image. */
export function layoutImages(
  parts: readonly ImageInfo[],
  space: Size,
  stretch = false,
): TileLayout {
  const aspect = getAspectRatio(parts);
  const spacing = {
    gap: IMAGE_GAP_PX,
    captionHeight: 0,
    minWidth: MIN_TILE_WIDTH_PX,
    minImageWidth: MIN_TILE_IMAGE_WIDTH_PX,
  };
  const { columns, width, height } = layoutGrid(parts.length, aspect, space, spacing);
  if (stretch) return { columns, tile: { width, height } };
  const tileWidth = Math.max(1, Math.floor(Math.min(width, height * aspect)));
  const tileHeight = Math.max(1, Math.floor(tileWidth / aspect));
  return { columns, tile: { width: tileWidth, height: tileHeight } };
}

/** Return the largest size in a box with the aspect ratio of an image. */
export function fitInside({ width, height }: Size, box: Size): Size {
  if (width <= 0 || height <= 0) return box;
  const scale = Math.min(box.width / width, box.height / height, MAX_THUMBNAIL_PIXEL_PX);
  return { width: Math.max(1, width * scale), height: Math.max(1, height * scale) };
}

export const CAPTION_HEIGHT_PX = 20;
export const RUN_GAP_PX = 8;

/** If runs or images would be narrower, the card scrolls. */
const MIN_RUN_WIDTH_PX = 96;
const MIN_RUN_IMAGE_WIDTH_PX = 16;
const MIN_SINGLE_IMAGE_WIDTH_PX = 64;

/** Number and aspect ratio of the images of one step. */
export interface ImageShape {
  readonly count: number;
  readonly aspect: number;
}

const DEFAULT_SHAPE: ImageShape = { count: 1, aspect: 1 };

/** Return the shape of the run with the most images. */
export function findCommonShape(
  all: readonly (readonly ImageInfo[])[],
  part: number | null,
): ImageShape {
  const [first, ...others] = all.map((parts) => selectImages(parts, part));
  if (!first) return DEFAULT_SHAPE;
  const longest = others.reduce((one, other) => (other.length > one.length ? other : one), first);
  return { count: Math.max(1, longest.length), aspect: getAspectRatio(longest) };
}

/** Lay out the runs of a card. */
export function layoutRuns(runs: number, shape: ImageShape, space: Size): GridLayout {
  const minImageWidth = shape.count > 1 ? MIN_RUN_IMAGE_WIDTH_PX : MIN_SINGLE_IMAGE_WIDTH_PX;
  const spacing = {
    gap: RUN_GAP_PX,
    captionHeight: CAPTION_HEIGHT_PX,
    minWidth: MIN_RUN_WIDTH_PX,
    minImageWidth,
  };
  return layoutGroups(runs, { ...shape, gap: IMAGE_GAP_PX }, space, spacing);
}

export const GRID_HEADER_HEIGHT_PX = 20;
export const GRID_CAPTION_HEIGHT_PX = 20;
export const GRID_GAP_PX = 4;

const MIN_CELL_HEIGHT_PX = 56;
const MAX_CELL_HEIGHT_PX = 180;
/** Wide enough for the step above each image. */
const MIN_CELL_WIDTH_PX = 44;
/** Fewer would not show how images change. */
const MIN_VISIBLE_STEPS = 4;

export interface GridCell extends Size {
  /** Number of steps that fit side by side. */
  readonly columns: number;
}

/** Return the size of the cells of a step grid, so that all runs and a few steps fit. */
export function measureGrid(runs: number, aspect: number, space: Size): GridCell {
  const share =
    (space.height - GRID_HEADER_HEIGHT_PX) / Math.max(1, runs) -
    GRID_CAPTION_HEIGHT_PX -
    GRID_GAP_PX;
  const maxWidth = Math.max(
    MIN_CELL_WIDTH_PX,
    Math.floor((space.width + GRID_GAP_PX) / MIN_VISIBLE_STEPS) - GRID_GAP_PX,
  );
  const height = Math.round(
    Math.max(MIN_CELL_HEIGHT_PX, Math.min(MAX_CELL_HEIGHT_PX, share, maxWidth / aspect)),
  );
  const width = Math.round(Math.min(maxWidth, Math.max(MIN_CELL_WIDTH_PX, height * aspect)));
  const columns = Math.max(1, Math.floor((space.width + GRID_GAP_PX) / (width + GRID_GAP_PX)));
  return { width, height, columns };
}

/** Return evenly spaced items, including the first and the last. */
export function sampleEvenly(items: ArrayLike<number>, maxItems: number): number[] {
  if (items.length <= maxItems) return Array.from(items);
  if (maxItems <= 1) return [items[items.length - 1] ?? NaN];
  const spacing = (items.length - 1) / (maxItems - 1);
  return Array.from({ length: maxItems }, (_, at) => items[Math.round(at * spacing)] ?? NaN);
}

/** Remove the folders that all labels have in common at the start and at the end. */
export function makeDistinguishingLabels(labels: readonly string[]): string[] {
  const all = labels.map((label) => label.split('/'));
  const [first = [], ...others] = all;
  if (others.length === 0) return [...labels];
  const shortest = Math.min(...all.map(({ length }) => length));
  let before = 0;
  while (before < shortest - 1 && all.every((parts) => parts[before] === first[before])) before++;
  let after = 0;
  const isShared = (): boolean =>
    all.every((parts) => parts.at(-1 - after) === first.at(-1 - after));
  while (after < shortest - 1 - before && isShared()) after++;
  return all.map((parts) => parts.slice(before, parts.length - after).join('/'));
}

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
export function getPixelAt(pane: PaneGeometry, viewport: Viewport, at: Point): Point | null {
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
export function getImageTileLevel(image: Size, deviceScale: number): number {
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
