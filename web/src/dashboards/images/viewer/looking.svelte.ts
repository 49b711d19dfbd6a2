import { createContext } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import type { Param } from '../../../plugin/context';
import {
  fitScale,
  type Pane,
  type Spot,
  type Viewport,
  WHOLE,
  zoomAt,
  zoomFor,
} from '../geometry/viewport';

/** How much nearer one press of a button goes. */
const STEP = 1.5;

/** Where all pictures that are on the screen together are looked at, and pointed at. */
export class Looking {
  readonly #viewport: Param<Viewport>;
  /** Under the pointer, as a share of width and height; the same spot in all pictures. */
  pointer = $state.raw<Spot | null>(null);
  /** The place that is pointed at, by its name. */
  pointed = $state<string | null>(null);
  /** All panes on the screen by ID, with their current sizes. */
  readonly #panes = new SvelteMap<string, Pane>();
  #activeId = $state<string | null>(null);

  /** The pane that buttons and keys act on: the last one under the pointer, or else the first. */
  readonly pane = $derived.by((): Pane | null => {
    const active = this.#activeId === null ? undefined : this.#panes.get(this.#activeId);
    return active ?? this.#panes.values().next().value ?? null;
  });

  /** Pixels of the screen that each of the picture takes. */
  readonly scale = $derived.by(() =>
    this.pane ? fitScale(this.pane) * this.viewport.zoom * devicePixelRatio : null,
  );

  constructor(viewport: Param<Viewport>) {
    this.#viewport = viewport;
  }

  setPane(id: string, pane: Pane): void {
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

  show(viewport: Viewport): void {
    this.#viewport.set(viewport);
  }

  showAll(): void {
    this.show(WHOLE);
  }

  /** Larger or smaller around the middle. */
  zoomBy(direction: 1 | -1): void {
    if (!this.pane) return;
    const { width, height } = this.pane.place;
    const middle = { x: width / 2, y: height / 2 };
    this.show(zoomAt(this.pane, this.viewport, middle, STEP ** direction));
  }

  /** One pixel of the picture for one of the screen. */
  showActual(): void {
    if (this.pane) this.show({ ...this.viewport, zoom: zoomFor(this.pane, 1 / devicePixelRatio) });
  }
}

export const [getLooking, setLooking] = createContext<Looking>();
