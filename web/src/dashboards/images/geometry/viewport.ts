import type { Size } from './arrange';

export interface Spot {
  readonly x: number;
  readonly y: number;
}

/**
 * What is seen of a picture: the spot in the middle, as a share of its width and height, and how
 * often it is larger than when all of it fits. Pictures of any size can share one.
 */
export interface Viewport extends Spot {
  readonly zoom: number;
}

/** A picture of a size in a place on the page. */
export interface Pane {
  readonly place: Size;
  readonly picture: Size;
}

/** Where the picture lies in its place, and how many pixels of the page each of its own takes. */
export interface Lie {
  readonly left: number;
  readonly top: number;
  readonly scale: number;
}

export const WHOLE: Viewport = { x: 0.5, y: 0.5, zoom: 1 };

/** Pixels of the page that one of the picture takes at most. */
const LARGEST_PIXEL = 96;

export function fitScale({ place, picture }: Pane): number {
  return Math.min(place.width / picture.width, place.height / picture.height);
}

export function lieOf(pane: Pane, viewport: Viewport): Lie {
  const scale = fitScale(pane) * viewport.zoom;
  const { place, picture } = pane;
  const { x, y } = withinReach(pane, viewport);
  return {
    scale,
    left: place.width / 2 - x * picture.width * scale,
    top: place.height / 2 - y * picture.height * scale,
  };
}

/** The zoom at which a pixel of the picture takes `scale` pixels of the page. */
export function zoomFor(pane: Pane, scale: number): number {
  return scale / fitScale(pane);
}

/** Larger or smaller around a spot of the place, which stays where it is. */
export function zoomAt(pane: Pane, viewport: Viewport, at: Spot, factor: number): Viewport {
  const fit = fitScale(pane);
  const smallest = Math.min(1, 1 / fit / devicePixels());
  const largest = Math.max(1, LARGEST_PIXEL / fit);
  const zoom = Math.min(largest, Math.max(smallest, viewport.zoom * factor));
  const before = lieOf(pane, viewport);
  const under = { x: (at.x - before.left) / before.scale, y: (at.y - before.top) / before.scale };
  const scale = fit * zoom;
  return withinReach(pane, {
    zoom,
    x: (under.x + (pane.place.width / 2 - at.x) / scale) / pane.picture.width,
    y: (under.y + (pane.place.height / 2 - at.y) / scale) / pane.picture.height,
  });
}

/** Moved along with a hand. */
export function panBy(pane: Pane, viewport: Viewport, dx: number, dy: number): Viewport {
  const scale = fitScale(pane) * viewport.zoom;
  const { x, y, zoom } = withinReach(pane, viewport);
  return withinReach(pane, {
    zoom,
    x: x - dx / (pane.picture.width * scale),
    y: y - dy / (pane.picture.height * scale),
  });
}

/** The pixel of the picture under a spot of the place; null beside the picture. */
export function pixelAt(pane: Pane, viewport: Viewport, at: Spot): Spot | null {
  const { left, top, scale } = lieOf(pane, viewport);
  const [x, y] = [Math.floor((at.x - left) / scale), Math.floor((at.y - top) / scale)];
  const { width, height } = pane.picture;
  return x >= 0 && y >= 0 && x < width && y < height ? { x, y } : null;
}

/** Without emptiness at a side while there is more of the picture at the other. */
function withinReach(pane: Pane, { x, y, zoom }: Viewport): Viewport {
  const scale = fitScale(pane) * zoom;
  const { place, picture } = pane;
  return {
    zoom,
    x: hold(x, place.width / 2 / (picture.width * scale)),
    y: hold(y, place.height / 2 / (picture.height * scale)),
  };
}

function hold(middle: number, half: number): number {
  return half >= 0.5 ? 0.5 : Math.min(1 - half, Math.max(half, middle));
}

function devicePixels(): number {
  return globalThis.devicePixelRatio ?? 1;
}
