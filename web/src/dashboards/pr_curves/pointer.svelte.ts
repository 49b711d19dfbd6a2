import type { CardCurves } from './cards/curves.svelte';

/** What a chart is pointed at with. */
export interface Pointed {
  /** Which of the cards on the page; one may stand there twice. */
  readonly key: string;
  readonly card: CardCurves;
  readonly threshold: number;
  /** The id of the curve that is nearest; null where a key moved the threshold. */
  readonly nearest: string | null;
  /** Where on the screen a threshold of this card is told of. */
  readonly locate: (threshold: number) => { readonly left: number; readonly top: number };
}

/** The chart under the pointer, and the one that was clicked. */
export class Pointer {
  hover = $state.raw<Pointed | null>(null);
  pinned = $state.raw<Pointed | null>(null);
}
