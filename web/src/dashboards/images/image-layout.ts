import { type GridLayout, layoutGrid, layoutGroups, type Size } from './image-geometry';
import { type ImageValue, neededImageSize, thumbnailPath } from './query';
import type { ImageInfo } from '../../api/schemas';

/** More pictures than this of one step are told of, and looked at one by one. */
const MAX_IMAGES_PER_STEP = 256;
/** Of each step, a copy of a board carries this many. */
const MAX_EXPORTED_IMAGES = 16;

export const IMAGE_GAP_PX = 2;
const MIN_TILE_WIDTH_PX = 20;
const MIN_TILE_IMAGE_WIDTH_PX = 12;
/** A picture is enlarged no more than this: one pixel that fills a card says nothing more. */
const MAX_THUMBNAIL_PIXEL_PX = 48;

/** Pictures of one step beside each other, as close as they can be. */
export interface TileLayout {
  readonly columns: number;
  /** Of each picture's place. */
  readonly tile: Size;
}

/** Those of the pictures that are looked at. */
export function selectImages(
  parts: readonly ImageInfo[],
  part: number | null,
  isStatic = false,
): readonly ImageInfo[] {
  if (part === null) return parts.slice(0, isStatic ? MAX_EXPORTED_IMAGES : MAX_IMAGES_PER_STEP);
  const chosen = parts.find((about) => about.part === part) ?? parts.at(-1);
  return chosen ? [chosen] : [];
}

/** Films that do not say their size are mostly as wide as a screen. */
const DEFAULT_VIDEO_SIZE: Size = { width: 640, height: 360 };

/** The size of a picture, or one that has its shape. */
export function displaySize({ width, height, video }: ImageInfo): Size {
  if (width > 0 && height > 0) return { width, height };
  return video ? DEFAULT_VIDEO_SIZE : { width: 1, height: 1 };
}

/** Width of pictures over their height; of several, that of the first that can be seen. */
export function aspectRatio(parts: readonly ImageInfo[]): number {
  const found = parts.find(({ width, video }) => width > 0 || video);
  if (!found) return 1;
  const { width, height } = displaySize(found);
  return width / height;
}

/** With `stretch` places fill all there is, else each is as large as its picture becomes. */
export function layoutImages(
  parts: readonly ImageInfo[],
  place: Size,
  stretch = false,
): TileLayout {
  const aspect = aspectRatio(parts);
  const spacing = {
    gap: IMAGE_GAP_PX,
    captionHeight: 0,
    minWidth: MIN_TILE_WIDTH_PX,
    minImageWidth: MIN_TILE_IMAGE_WIDTH_PX,
  };
  const { columns, width, height } = layoutGrid(parts.length, aspect, place, spacing);
  if (stretch) return { columns, tile: { width, height } };
  const wide = Math.max(1, Math.floor(Math.min(width, height * aspect)));
  return { columns, tile: { width: wide, height: Math.max(1, Math.floor(wide / aspect)) } };
}

/** The largest size within a box in which a picture keeps its shape. */
export function fitInside({ width, height }: Size, box: Size): Size {
  if (width <= 0 || height <= 0) return box;
  const scale = Math.min(box.width / width, box.height / height, MAX_THUMBNAIL_PIXEL_PX);
  return { width: Math.max(1, width * scale), height: Math.max(1, height * scale) };
}

/** What has to be loaded before some pictures of a value can be shown in a place. */
export function thumbnailPaths(
  value: ImageValue,
  parts: readonly ImageInfo[],
  place: Size,
  isStatic: boolean,
): string[] {
  const { tile } = layoutImages(parts, place);
  return parts
    .filter(({ problem, video, frames }) => problem === null && !video && frames === 1)
    .map((about) =>
      thumbnailPath(value, about, neededImageSize(about, tile, devicePixelRatio), isStatic),
    );
}

/** Height of the line with the name of a run, in pixels. */
export const CAPTION_HEIGHT_PX = 20;
export const RUN_GAP_PX = 8;

/** Narrower strips than these, and smaller pictures, are scrolled to instead. */
const MIN_RUN_WIDTH_PX = 96;
const MIN_RUN_IMAGE_WIDTH_PX = 16;
const MIN_SINGLE_IMAGE_WIDTH_PX = 64;

/** What the pictures of one step of a card look like: how many, and how wide for their height. */
export interface ImageShape {
  readonly count: number;
  readonly aspect: number;
}

/** What a card is drawn as until the first of its pictures are known. */
export const DEFAULT_SHAPE: ImageShape = { count: 1, aspect: 1 };

/** The shape of the run that has most pictures, so that those of all runs fit. */
export function commonShape(
  all: readonly (readonly ImageInfo[])[],
  part: number | null,
): ImageShape {
  const [first, ...others] = all.map((parts) => selectImages(parts, part));
  if (!first) return DEFAULT_SHAPE;
  const fullest = others.reduce((one, other) => (other.length > one.length ? other : one), first);
  return { count: Math.max(1, fullest.length), aspect: aspectRatio(fullest) };
}

/** How the strips of some runs fill a card. */
export function layoutRuns(runs: number, shape: ImageShape, place: Size): GridLayout {
  const minImageWidth = shape.count > 1 ? MIN_RUN_IMAGE_WIDTH_PX : MIN_SINGLE_IMAGE_WIDTH_PX;
  const spacing = {
    gap: RUN_GAP_PX,
    captionHeight: CAPTION_HEIGHT_PX,
    minWidth: MIN_RUN_WIDTH_PX,
    minImageWidth,
  };
  return layoutGroups(runs, { ...shape, gap: IMAGE_GAP_PX }, place, spacing);
}

/** Height of the line with the steps, and of the lines with the names of runs, in pixels. */
export const GRID_HEADER_HEIGHT_PX = 20;
export const GRID_CAPTION_HEIGHT_PX = 20;
export const GRID_GAP_PX = 4;

const MIN_CELL_HEIGHT_PX = 56;
const MAX_CELL_HEIGHT_PX = 180;
/** A step has to be read above each picture. */
const MIN_CELL_WIDTH_PX = 44;
/** How many steps there has to be room for: one alone shows nothing of how a picture came to be. */
const MIN_VISIBLE_STEPS = 4;

export interface GridCell extends Size {
  /** How many of them fit side by side. */
  readonly columns: number;
}

/** Pictures as high as lets all runs and a few steps be seen, within reason. */
export function measureGrid(runs: number, aspect: number, place: Size): GridCell {
  const share =
    (place.height - GRID_HEADER_HEIGHT_PX) / Math.max(1, runs) -
    GRID_CAPTION_HEIGHT_PX -
    GRID_GAP_PX;
  const widest = Math.max(
    MIN_CELL_WIDTH_PX,
    Math.floor((place.width + GRID_GAP_PX) / MIN_VISIBLE_STEPS) - GRID_GAP_PX,
  );
  const height = Math.round(
    Math.max(MIN_CELL_HEIGHT_PX, Math.min(MAX_CELL_HEIGHT_PX, share, widest / aspect)),
  );
  const width = Math.round(Math.min(widest, Math.max(MIN_CELL_WIDTH_PX, height * aspect)));
  const fitting = Math.max(1, Math.floor((place.width + GRID_GAP_PX) / (width + GRID_GAP_PX)));
  return { width, height, columns: fitting };
}

/** Some of many, evenly spread, with the first and the last among them. */
export function sampleEvenly(items: ArrayLike<number>, most: number): number[] {
  if (items.length <= most) return Array.from(items);
  if (most <= 1) return [items[items.length - 1] ?? NaN];
  const spread = (items.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, at) => items[Math.round(at * spread)] ?? NaN);
}

/** What tells names apart: without the folders that all of them begin with, or end with. */
export function distinguishingLabels(labels: readonly string[]): string[] {
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
