import { isAbort } from '../api/client';
import type { AtAnswer, AtRow, ViewAsk } from '../api/scalars';
import type { Api } from '../plugin/context';
import type { CardChart } from './chart.svelte';

/** What a chart is pointed at with. */
export interface Spot {
  /** Which of the cards on the page; one may stand there twice. */
  readonly key: string;
  readonly chart: CardChart;
  /** Where a place on the axis is on the screen. */
  readonly locate: (x: number) => { readonly left: number; readonly top: number };
  readonly x: number;
  /** null where an arrow key moved the cursor. */
  readonly y: number | null;
  readonly nearest: string | null;
}

/** How long a pointer rests before exact values are asked for. */
const REST_MS = 90;

/** The chart under the pointer, and the one that was clicked. */
export class Pointer {
  hover = $state.raw<Spot | null>(null);
  pinned = $state.raw<Spot | null>(null);
  /** The card that keys are for. */
  current = $state.raw<{ key: string; chart: CardChart } | null>(null);
  /** Points as they were logged, of the lines that are pointed at. */
  exact = $state.raw<readonly AtRow[]>([]);

  readonly #api: Api;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What was asked for last. */
  #place = '';
  #abort = new AbortController();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Asks for the points at a place once the pointer rests there. */
  askExact(view: ViewAsk, spot: Spot | null): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
    const ask = spot && view.groups === null ? askAt(view, spot) : null;
    const place = JSON.stringify(ask);
    // At the same place new points may have come in; what was told there holds until they are told.
    if (place !== this.#place) this.exact = [];
    this.#place = place;
    if (ask) this.#timer = setTimeout(() => void this.#ask(ask), REST_MS);
  }

  async #ask(ask: AtAsk): Promise<void> {
    this.#abort = new AbortController();
    try {
      const { rows } = await this.#api.post<AtAnswer>('at', ask, this.#abort.signal);
      this.exact = rows;
    } catch (error) {
      // What is drawn is shown all the same.
      if (!isAbort(error)) this.exact = [];
    }
  }
}

type AtAsk = ReturnType<typeof askAt>;

function askAt({ runs, x, smoothing, baseline }: ViewAsk, { chart, x: at }: Spot) {
  return { runs, x, smoothing, baseline, tags: chart.card.tags, at };
}
