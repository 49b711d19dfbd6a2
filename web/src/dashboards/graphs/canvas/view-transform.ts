import type { Size, LayoutPoint } from '../layout/layout-types';

/** How the picture lies on the screen: a spot of it is at `spot * scale + x`, or `+ y`. */
export interface ViewTransform extends LayoutPoint {
  readonly scale: number;
}

export const SCALE_LIMITS = { least: 0.02, most: 3 };
/** Names can be read from here on; a first look at a large graph goes no further out. */
const READABLE_SCALE = 0.55;
const VIEW_MARGIN_PX = 28;

export interface Box extends LayoutPoint, Size {}

/** All of the picture, no larger than life. */
export function fitView(picture: Size, screen: Size): ViewTransform {
  const scale = Math.min(
    1,
    (screen.width - 2 * VIEW_MARGIN_PX) / Math.max(1, picture.width),
    (screen.height - 2 * VIEW_MARGIN_PX) / Math.max(1, picture.height),
  );
  return centerView(picture, screen, clampScale(scale));
}

/** All of it if it can be read then; else where it begins, as large as can be read. */
export function initialView(picture: Size, screen: Size): ViewTransform {
  const all = fitView(picture, screen);
  if (all.scale >= READABLE_SCALE) return all;
  const view = centerView(picture, screen, READABLE_SCALE);
  return {
    ...view,
    x: Math.max(view.x, initialOffset(picture.width, screen.width)),
    y: VIEW_MARGIN_PX,
  };
}

/** A picture wider than the screen shows its middle, where what matters mostly is. */
function initialOffset(width: number, screen: number): number {
  const all = width * READABLE_SCALE;
  return all <= screen ? VIEW_MARGIN_PX : (screen - all) / 2;
}

function centerView(picture: Size, screen: Size, scale: number): ViewTransform {
  return {
    scale,
    x: (screen.width - picture.width * scale) / 2,
    y: (screen.height - picture.height * scale) / 2,
  };
}

export function zoomAt(view: ViewTransform, at: LayoutPoint, factor: number): ViewTransform {
  const scale = clampScale(view.scale * factor);
  const grown = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * grown, y: at.y - (at.y - view.y) * grown };
}

/** The same picture with `spot` at `at` on the screen. */
export function alignPoint(view: ViewTransform, spot: LayoutPoint, at: LayoutPoint): ViewTransform {
  return { ...view, x: at.x - spot.x * view.scale, y: at.y - spot.y * view.scale };
}

/** As little moved as needed for `box` to be seen, and to be read. */
export function revealBox(view: ViewTransform, box: Box, screen: Size): ViewTransform {
  const middle = { x: screen.width / 2, y: screen.height / 2 };
  const scale = Math.max(view.scale, Math.min(READABLE_SCALE, SCALE_LIMITS.most));
  const near = { ...view, scale };
  const isSeen = scale === view.scale && isBoxInside(box, visibleBox(view, screen));
  return isSeen ? view : alignPoint(near, box, middle);
}

/** The part of the picture that is on the screen, by its middle. */
export function visibleBox({ x, y, scale }: ViewTransform, screen: Size): Box {
  const [width, height] = [screen.width / scale, screen.height / scale];
  return { x: -x / scale + width / 2, y: -y / scale + height / 2, width, height };
}

export function boxesOverlap(one: Box, other: Box): boolean {
  return (
    Math.abs(one.x - other.x) * 2 <= one.width + other.width &&
    Math.abs(one.y - other.y) * 2 <= one.height + other.height
  );
}

function isBoxInside(box: Box, frame: Box): boolean {
  return (
    Math.abs(box.x - frame.x) * 2 <= frame.width - Math.min(box.width, frame.width) &&
    Math.abs(box.y - frame.y) * 2 <= frame.height - Math.min(box.height, frame.height)
  );
}

function clampScale(scale: number): number {
  return Math.min(SCALE_LIMITS.most, Math.max(SCALE_LIMITS.least, scale));
}
