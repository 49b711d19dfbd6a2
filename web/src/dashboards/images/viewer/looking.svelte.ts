import { createContext } from 'svelte';

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
  /** The picture that buttons and keys are for: the one pointed at last. */
  pane = $state.raw<Pane | null>(null);

  /** Pixels of the screen that each of the picture takes. */
  readonly scale = $derived.by(() =>
    this.pane ? fitScale(this.pane) * this.viewport.zoom * devicePixelRatio : null,
  );

  constructor(viewport: Param<Viewport>) {
    this.#viewport = viewport;
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
