import type { SpreadSpot } from '../../charts/spread/types';
import type { Point } from '../../charts/pen/pen';
import type { CardSpread } from './card/spread.svelte';

/** What is pointed at with. */
export interface Pointed {
  /** Which of the cards on the page; one may stand there twice. */
  readonly key: string;
  readonly chart: CardSpread;
  readonly spot: SpreadSpot;
  /** Where on the screen. */
  readonly at: Point;
}

/** What the pointer is at, and what was clicked. */
export class Pointer {
  hover = $state.raw<Pointed | null>(null);
  pinned = $state.raw<Pointed | null>(null);
}
