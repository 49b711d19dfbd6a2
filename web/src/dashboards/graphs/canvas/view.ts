import type { Size, Spot } from '../layout/types';

/** How the picture lies on the screen: a spot of it is at `spot * scale + x`, or `+ y`. */
export interface View extends Spot {
  readonly scale: number;
}

export const SCALES = { least: 0.02, most: 3 };
/** Names can be read from here on; a first look at a large graph goes no further out. */
const READABLE = 0.55;
const MARGIN = 28;

export interface Box extends Spot, Size {}

/** All of the picture, no larger than life. */
export function fit(picture: Size, screen: Size): View {
  const scale = Math.min(
    1,
    (screen.width - 2 * MARGIN) / Math.max(1, picture.width),
    (screen.height - 2 * MARGIN) / Math.max(1, picture.height),
  );
  return centred(picture, screen, clampScale(scale));
}

/** All of it if it can be read then; else where it begins, as large as can be read. */
export function firstLook(picture: Size, screen: Size): View {
  const all = fit(picture, screen);
  if (all.scale >= READABLE) return all;
  const view = centred(picture, screen, READABLE);
  return { ...view, x: Math.max(view.x, beginning(picture.width, screen.width)), y: MARGIN };
}

/** A picture wider than the screen shows its middle, where what matters mostly is. */
function beginning(width: number, screen: number): number {
  const all = width * READABLE;
  return all <= screen ? MARGIN : (screen - all) / 2;
}

function centred(picture: Size, screen: Size, scale: number): View {
  return {
    scale,
    x: (screen.width - picture.width * scale) / 2,
    y: (screen.height - picture.height * scale) / 2,
  };
}

export function zoomAt(view: View, at: Spot, factor: number): View {
  const scale = clampScale(view.scale * factor);
  const grown = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * grown, y: at.y - (at.y - view.y) * grown };
}

/** The same picture with `spot` at `at` on the screen. */
export function bringTo(view: View, spot: Spot, at: Spot): View {
  return { ...view, x: at.x - spot.x * view.scale, y: at.y - spot.y * view.scale };
}

/** As little moved as needed for `box` to be seen, and to be read. */
export function reveal(view: View, box: Box, screen: Size): View {
  const middle = { x: screen.width / 2, y: screen.height / 2 };
  const scale = Math.max(view.scale, Math.min(READABLE, SCALES.most));
  const near = { ...view, scale };
  const isSeen = scale === view.scale && isInside(box, seen(view, screen));
  return isSeen ? view : bringTo(near, box, middle);
}

/** The part of the picture that is on the screen, by its middle. */
export function seen({ x, y, scale }: View, screen: Size): Box {
  const [width, height] = [screen.width / scale, screen.height / scale];
  return { x: -x / scale + width / 2, y: -y / scale + height / 2, width, height };
}

export function touches(one: Box, other: Box): boolean {
  return (
    Math.abs(one.x - other.x) * 2 <= one.width + other.width &&
    Math.abs(one.y - other.y) * 2 <= one.height + other.height
  );
}

function isInside(box: Box, frame: Box): boolean {
  return (
    Math.abs(box.x - frame.x) * 2 <= frame.width - Math.min(box.width, frame.width) &&
    Math.abs(box.y - frame.y) * 2 <= frame.height - Math.min(box.height, frame.height)
  );
}

function clampScale(scale: number): number {
  return Math.min(SCALES.most, Math.max(SCALES.least, scale));
}
