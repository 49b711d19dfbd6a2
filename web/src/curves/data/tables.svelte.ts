import { SvelteMap } from 'svelte/reactivity';

import { isAbort, problemOf } from '../../api/client';
import type { AtAnswer, AtRow, RangeAnswer, RangeRow, ViewAsk } from '../../api/scalars';
import type { Problem } from '../../api/types';
import { Pace } from '../../base/pace';
import type { Span } from '../../charts/types';
import type { Api } from '../../plugin/context';
import { byTag, unique } from './rows';
import { Wants } from './want';

const PAUSE_MS = 1000;

/** The place, or the range, that tables below charts are about. */
export interface Place {
  readonly view: ViewAsk;
  readonly at: number | null;
  readonly range: Span | null;
}

/** Rows of the tables on the screen, all of them in one request. */
export class TableLoader {
  problem = $state.raw<Problem | null>(null);
  readonly #api: Api;
  readonly #at = new SvelteMap<string, readonly AtRow[]>();
  readonly #range = new SvelteMap<string, readonly RangeRow[]>();
  readonly #wants = new Wants<readonly string[]>();
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #place: Place | null = null;
  #abort = new AbortController();

  constructor(api: Api) {
    this.#api = api;
  }

  findAt(tag: string): readonly AtRow[] | undefined {
    return this.#at.get(tag);
  }

  findRange(tag: string): readonly RangeRow[] | undefined {
    return this.#range.get(tag);
  }

  want(tags: readonly string[]): () => void {
    this.#pace.askNow();
    return this.#wants.add(tags);
  }

  /** Values of another place would be wrong here, so they go at once. */
  show(place: Place): void {
    this.#place = place;
    this.#abort.abort();
    this.#at.clear();
    this.#range.clear();
    this.#pace.askNow();
  }

  refresh(): void {
    this.#pace.ask();
  }

  async #load(): Promise<void> {
    const place = this.#place;
    const tags = unique(this.#wants.all.flat());
    if (place === null || tags.length === 0 || (place.at === null && place.range === null)) return;
    this.#abort = new AbortController();
    try {
      await this.#fetch(place, tags, this.#abort.signal);
      this.problem = null;
    } catch (error) {
      if (!isAbort(error)) this.problem = problemOf(error);
    }
  }

  async #fetch({ view, at, range }: Place, tags: readonly string[], signal: AbortSignal) {
    const { runs, x, smoothing, baseline } = view;
    const ask = { runs, tags, x, smoothing, baseline };
    if (range) {
      const [start, stop] = range;
      const answer = await this.#api.post<RangeAnswer>('range', { ...ask, start, stop }, signal);
      for (const [tag, rows] of byTag(tags, answer.rows)) this.#range.set(tag, rows);
    } else {
      const answer = await this.#api.post<AtAnswer>('at', { ...ask, at }, signal);
      for (const [tag, rows] of byTag(tags, answer.rows)) this.#at.set(tag, rows);
    }
  }
}
