import { createContext } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import type { GestureHandlers } from '../../../charts/surface/gestures';
import type { Param, Shortcut, Shortcuts } from '../../../plugin/context';
import {
  FIT_VIEWPORT,
  fitScale,
  panBy,
  type PaneGeometry,
  pixelAt,
  type Point,
  type Viewport,
  zoomAt,
  zoomForScale,
} from '../image-geometry';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/images';

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
    hover: (at) => hoverPixel(at && pixelAt(pane(), viewport(), at)),
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
