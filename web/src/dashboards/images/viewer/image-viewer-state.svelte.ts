/** What the image viewer shows: zoom, position, and the exact values of pixels. */
import { createContext } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import type { ImageInfo, PixelsRequest, PixelsResponse } from '../../../api/schemas';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/images';
import type { GestureHandlers } from '../../../charts/surface/gestures';
import type { Param, Shortcut, Shortcuts } from '../../../plugin/context';
import {
  FIT_VIEWPORT,
  fitScale,
  type ImageTransform,
  panBy,
  type PaneGeometry,
  getPixelAt,
  type Point,
  type Size,
  type Viewport,
  zoomAt,
  zoomForScale,
} from '../image-layout';
import type { ImageValue } from '../query';

const ZOOM_STEP = 1.5;

/** The viewport and the pointer that all panes on the screen share. */
export class ViewerState {
  readonly #viewport: Param<Viewport>;
  /** Position of the pointer as a fraction of width and height, the same in all images. */
  pointer = $state.raw<Point | null>(null);
  /** `paneId` of the pane under the pointer. */
  hoveredPane = $state<string | null>(null);
  /** All panes on the screen by ID, with their current sizes. */
  readonly #panes = new SvelteMap<string, PaneGeometry>();
  #activeId = $state<string | null>(null);

  /** The pane that buttons and keys act on: the last one under the pointer, or else the first. */
  readonly activePane = $derived.by((): PaneGeometry | null => {
    const active = this.#activeId === null ? undefined : this.#panes.get(this.#activeId);
    return active ?? this.#panes.values().next().value ?? null;
  });

  /** Screen pixels per image pixel. */
  readonly scale = $derived.by(() =>
    this.activePane ? fitScale(this.activePane) * this.viewport.zoom * devicePixelRatio : null,
  );

  constructor(viewport: Param<Viewport>) {
    this.#viewport = viewport;
  }

  setPane(id: string, pane: PaneGeometry): void {
    this.#panes.set(id, pane);
  }

  removePane(id: string): void {
    this.#panes.delete(id);
  }

  activatePane(id: string): void {
    this.#activeId = id;
  }

  get viewport(): Viewport {
    return this.#viewport.value;
  }

  setViewport(viewport: Viewport): void {
    this.#viewport.set(viewport);
  }

  fit(): void {
    this.setViewport(FIT_VIEWPORT);
  }

  /** Zoom in or out around the center. */
  zoomBy(direction: 1 | -1): void {
    if (!this.activePane) return;
    const { width, height } = this.activePane.size;
    const center = { x: width / 2, y: height / 2 };
    this.setViewport(zoomAt(this.activePane, this.viewport, center, ZOOM_STEP ** direction));
  }

  /** One image pixel per screen pixel. */
  showActualSize(): void {
    if (this.activePane)
      this.setViewport({
        ...this.viewport,
        zoom: zoomForScale(this.activePane, 1 / devicePixelRatio),
      });
  }
}

export const [getViewerState, setViewerState] = createContext<ViewerState>();

/** Return a viewport that is not stored in the URL. */
export function createLocalViewport(): Param<Viewport> {
  let viewport = $state.raw(FIT_VIEWPORT);
  return {
    get value() {
      return viewport;
    },
    set: (value) => void (viewport = value),
  };
}

interface GestureTarget {
  pane(): PaneGeometry;
  viewport(): Viewport;
  setViewport(viewport: Viewport): void;
  /** null: the pointer is not over the image. */
  hoverPixel(pixel: Point | null): void;
  select?(): void;
}

/** Drag pans, Ctrl+wheel and pinch zoom, double-click resets. */
export function createGestureHandlers({
  pane,
  viewport,
  setViewport,
  hoverPixel,
  select,
}: GestureTarget): GestureHandlers {
  let last: Point | null = null;
  const move = (dx: number, dy: number): void => setViewport(panBy(pane(), viewport(), dx, dy));
  return {
    hover: (at) => hoverPixel(at && getPixelAt(pane(), viewport(), at)),
    click: () => select?.(),
    drag(from, to) {
      const before = last ?? from;
      last = to;
      move(to.x - before.x, to.y - before.y);
    },
    dragEnd: () => void (last = null),
    dragCancel: () => void (last = null),
    pan: move,
    zoom: (at, factor) => setViewport(zoomAt(pane(), viewport(), at, factor)),
    resetZoom: () => setViewport(FIT_VIEWPORT),
    dragsByTouch: () => viewport().zoom > 1,
  };
}

/** Register the keyboard shortcuts of the viewer; return a function that removes them. */
export function registerViewerShortcuts(
  shortcuts: Shortcuts,
  viewer: ViewerState,
  moveImage: (by: 1 | -1) => void,
): () => void {
  const entries: Omit<Shortcut, 'group'>[] = [
    { keys: '+', label: common.zoomIn, run: () => viewer.zoomBy(1) },
    { keys: '=', label: common.zoomIn, run: () => viewer.zoomBy(1) },
    { keys: '-', label: common.zoomOut, run: () => viewer.zoomBy(-1) },
    { keys: '0', label: m.viewerFitToWindow, run: () => viewer.fit() },
    { keys: '1', label: m.viewerActualSize, run: () => viewer.showActualSize() },
    { keys: '[', label: m.viewerPrevious, run: () => moveImage(-1) },
    { keys: ']', label: m.viewerNext, run: () => moveImage(1) },
  ];
  const stops = entries.map((entry) => shortcuts.register({ ...entry, group: m.viewerTitle }));
  return () => stops.forEach((stop) => stop());
}

/** Pixels are requested in blocks, so that moving the pointer needs few requests. */
const BLOCK_SIZE_PX = 64;

/** A pixel with the values of the file. */
export interface Pixel extends Point {
  readonly channels: readonly string[];
  readonly values: readonly number[];
  readonly bits: number;
}

/** Return the request for the block that contains a pixel. */
export function makeBlockRequest(
  value: ImageValue,
  part: number,
  { x, y }: Point,
): Required<PixelsRequest> {
  return {
    ...value.request,
    part,
    x: x - (x % BLOCK_SIZE_PX),
    y: y - (y % BLOCK_SIZE_PX),
    width: BLOCK_SIZE_PX,
    height: BLOCK_SIZE_PX,
  };
}

/** Return a pixel of a block; null if it is outside. */
export function findPixel(block: PixelsResponse, { x, y }: Point): Pixel | null {
  const { channels, bits, width, height, values } = block;
  const [column, row] = [x - block.x, y - block.y];
  if (column < 0 || row < 0 || column >= width || row >= height) return null;
  const first = (row * width + column) * channels.length;
  return { x, y, channels, bits, values: channels.map((_, at) => values[first + at] ?? NaN) };
}

/** The same in all languages. */
const CHANNEL_LABELS: Readonly<Record<string, string>> = {
  red: 'R',
  green: 'G',
  blue: 'B',
  alpha: 'A',
};

/** For example `R 12  G 255  B 0`, or `12` for a single channel. */
export function formatPixel({ channels, values }: Pixel): string {
  const format = (value: number): string =>
    Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (channels.length === 1) return format(values[0] ?? NaN);
  return channels
    .map((name, at) => `${CHANNEL_LABELS[name] ?? name} ${format(values[at] ?? NaN)}`)
    .join('  ');
}

/** From this size on, pixels are labeled with their values. In CSS pixels. */
export const MIN_LABELED_PIXEL_PX = 44;

export interface PixelLabel extends Point {
  readonly text: string;
  /** The pixel is dark and needs light text. */
  readonly isDark: boolean;
}

/** Return the pixels of an image that are at least partly visible. */
export function visiblePixels(
  { width, height }: Pick<ImageInfo, 'width' | 'height'>,
  { left, top, scale }: ImageTransform,
  paneSize: Size,
): Point[] {
  const columns = visibleIndexes(left, scale, paneSize.width, width);
  const rows = visibleIndexes(top, scale, paneSize.height, height);
  return rows.flatMap((y) => columns.map((x) => ({ x, y })));
}

function visibleIndexes(offset: number, scale: number, paneSize: number, count: number): number[] {
  const first = Math.max(0, Math.floor(-offset / scale));
  const end = Math.min(count, Math.ceil((paneSize - offset) / scale));
  return Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
}

export function makePixelLabel({ x, y, values, bits, channels }: Pixel): PixelLabel {
  const max = bits === 32 ? 1 : 2 ** bits - 1;
  const [red = 0, green = red, blue = red] = values.slice(0, channels.length < 3 ? 1 : 3);
  const luminance = (0.299 * red + 0.587 * green + 0.114 * blue) / max;
  const text = values.map((value) => String(Number(value.toPrecision(5)))).join('\n');
  return { x, y, text, isDark: luminance < 0.55 };
}
