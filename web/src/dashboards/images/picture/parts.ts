import type { PartAbout } from '../../../api/images';
import { pathFor, sideIn } from '../data/source';
import type { Value } from '../data/value';
import { arrange, type Size } from '../geometry/arrange';

/** More pictures than this of one step are told of, and looked at one by one. */
const MOST_PARTS = 256;
/** Of each step, a copy of a board carries this many. */
const MOST_CARRIED = 16;

export const GAP = 2;
const NARROWEST = 20;
const SMALLEST = 12;
/** A picture is enlarged no more than this: one pixel that fills a card says nothing more. */
const LARGEST_PIXEL = 48;

/** Pictures of one step beside each other, as close as they can be. */
export interface Sheet {
  readonly columns: number;
  /** Of each picture's place. */
  readonly tile: Size;
}

/** Those of the pictures that are looked at. */
export function chooseParts(
  parts: readonly PartAbout[],
  part: number | null,
  isStatic = false,
): readonly PartAbout[] {
  if (part === null) return parts.slice(0, isStatic ? MOST_CARRIED : MOST_PARTS);
  const chosen = parts.find((about) => about.part === part) ?? parts.at(-1);
  return chosen ? [chosen] : [];
}

/** Films that do not say their size are mostly as wide as a screen. */
const FILM: Size = { width: 640, height: 360 };

/** The size of a picture, or one that has its shape. */
export function shapeSize({ width, height, video }: PartAbout): Size {
  if (width > 0 && height > 0) return { width, height };
  return video ? FILM : { width: 1, height: 1 };
}

/** Width of pictures over their height; of several, that of the first that can be seen. */
export function aspectOf(parts: readonly PartAbout[]): number {
  const found = parts.find(({ width, video }) => width > 0 || video);
  if (!found) return 1;
  const { width, height } = shapeSize(found);
  return width / height;
}

/** With `stretch` places fill all there is, else each is as large as its picture becomes. */
export function layOutParts(parts: readonly PartAbout[], place: Size, stretch = false): Sheet {
  const aspect = aspectOf(parts);
  const spacing = { gap: GAP, caption: 0, narrowest: NARROWEST, smallest: SMALLEST };
  const { columns, width, height } = arrange(parts.length, aspect, place, spacing);
  if (stretch) return { columns, tile: { width, height } };
  const wide = Math.max(1, Math.floor(Math.min(width, height * aspect)));
  return { columns, tile: { width: wide, height: Math.max(1, Math.floor(wide / aspect)) } };
}

/** The largest size within a box in which a picture keeps its shape. */
export function fitIn({ width, height }: Size, box: Size): Size {
  if (width <= 0 || height <= 0) return box;
  const scale = Math.min(box.width / width, box.height / height, LARGEST_PIXEL);
  return { width: Math.max(1, width * scale), height: Math.max(1, height * scale) };
}

/** What has to be loaded before some pictures of a value can be shown in a place. */
export function pathsFor(
  value: Value,
  parts: readonly PartAbout[],
  place: Size,
  isStatic: boolean,
): string[] {
  const { tile } = layOutParts(parts, place);
  return parts
    .filter(({ problem, video, frames }) => problem === null && !video && frames === 1)
    .map((about) => pathFor(value, about, sideIn(about, tile, devicePixelRatio), isStatic));
}
