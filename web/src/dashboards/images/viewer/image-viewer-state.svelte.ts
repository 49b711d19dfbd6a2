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

/** How much nearer one press of a button goes. */
const ZOOM_STEP = 1.5;

/** Where all pictures that are on the screen together are looked at, and pointed at. */
export class ViewerState {
  readonly #viewport: Param<Viewport>;
  /** Under the pointer, as a share of width and height; the same spot in all pictures. */
  pointer = $state.raw<Point | null>(null);
  /** The place that is pointed at, by its name. */
  hoveredPane = $state<string | null>(null);
  /** All panes on the screen by ID, with their current sizes. */
  readonly #panes = new SvelteMap<string, PaneGeometry>();
  #activeId = $state<string | null>(null);

  /** The pane that buttons and keys act on: the last one under the pointer, or else the first. */
  readonly activePane = $derived.by((): PaneGeometry | null => {
    const active = this.#activeId === null ? undefined : this.#panes.get(this.#activeId);
    return active ?? this.#panes.values().next().value ?? null;
  });

  /** Pixels of the screen that each of the picture takes. */
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

  /** Larger or smaller around the middle. */
  zoomBy(direction: 1 | -1): void {
    if (!this.activePane) return;
    const { width, height } = this.activePane.size;
    const middle = { x: width / 2, y: height / 2 };
    this.setViewport(zoomAt(this.activePane, this.viewport, middle, ZOOM_STEP ** direction));
  }

  /** One pixel of the picture for one of the screen. */
  showActualSize(): void {
    if (this.activePane)
      this.setViewport({
        ...this.viewport,
        zoom: zoomForScale(this.activePane, 1 / devicePixelRatio),
      });
  }
}

export const [getViewerState, setViewerState] = createContext<ViewerState>();

/** Where a picture is looked at as long as it is on the screen, and no longer. */
export function createLocalViewport(): Param<Viewport> {
  let viewport = $state.raw(FIT_VIEWPORT);
  return {
    get value() {
      return viewport;
    },
    set: (value) => void (viewport = value),
  };
}

/** What gestures act on. */
export interface GestureTarget {
  pane(): PaneGeometry;
  viewport(): Viewport;
  setViewport(viewport: Viewport): void;
  /** The pixel pointed at; null beside the picture. */
  hoverPixel(at: Point | null): void;
  select?(): void;
}

/** What gestures do to a picture: drag moves it, ctrl-wheel and pinch zoom, double-click shows all. */
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

export interface ViewerActions {
  compare(): void;
  moveImage(by: 1 | -1): void;
}

/** The keys while one card is over all others; returns how to take them back. */
export function registerViewerShortcuts(
  keys: Shortcuts,
  looking: ViewerState,
  acts: ViewerActions,
): () => void {
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: '+', label: 'Zoom in', run: () => looking.zoomBy(1) },
    { keys: '=', label: 'Zoom in', run: () => looking.zoomBy(1) },
    { keys: '-', label: 'Zoom out', run: () => looking.zoomBy(-1) },
    { keys: '0', label: 'All of the picture', run: () => looking.fit() },
    { keys: '1', label: 'Actual size', run: () => looking.showActualSize() },
    { keys: 'c', label: 'Compare two pictures, and back', run: () => acts.compare() },
    { keys: '[', label: 'Previous picture of the step', run: () => acts.moveImage(-1) },
    { keys: ']', label: 'Next picture of the step', run: () => acts.moveImage(1) },
  ];
  const stops = shortcuts.map((shortcut) => keys.register({ ...shortcut, group: 'Pictures' }));
  return () => stops.forEach((stop) => stop());
}
