import { SvelteMap } from 'svelte/reactivity';

import { isAbortError, toProblem } from '../api/errors';
import type { ChartsView } from '../api/scalar-schemas';
import type { NearestPointRow, NearestPointsResponse, Problem, RangeStatsResponse, RangeStatsRow } from '../api/schemas';
import { RequestScheduler } from '../api/request-scheduler';
import type { NumberRange } from '../charts/types';
import type { DashboardApi } from '../plugin/context';
import { rowsByTag, unique } from './chart-lines';
import { SubscriptionSet } from './chart-request';

const TABLES_REFRESH_MS = 1000;

/** The place, or the range, that tables below charts are about. */
export interface TablePosition {
  readonly view: ChartsView;
  readonly at: number | null;
  readonly range: NumberRange | null;
}

/** Rows of the tables on the screen, all of them in one request. */
export class ValueTableQuery {
  error = $state.raw<Problem | null>(null);
  readonly #api: DashboardApi;
  readonly #at = new SvelteMap<string, readonly NearestPointRow[]>();
  readonly #range = new SvelteMap<string, readonly RangeStatsRow[]>();
  readonly #wants = new SubscriptionSet<readonly string[]>();
  readonly #pace = new RequestScheduler(() => this.#load(), TABLES_REFRESH_MS);
  #place: TablePosition | null = null;
  #abort = new AbortController();

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  getPoints(tag: string): readonly NearestPointRow[] | undefined {
    return this.#at.get(tag);
  }

  getRange(tag: string): readonly RangeStatsRow[] | undefined {
    return this.#range.get(tag);
  }

  subscribe(tags: readonly string[]): () => void {
    this.#pace.scheduleNow();
    return this.#wants.add(tags);
  }

  /** Values of another place would be wrong here, so they go at once. */
  setPosition(place: TablePosition): void {
    this.#place = place;
    this.#abort.abort();
    this.#at.clear();
    this.#range.clear();
    this.#pace.scheduleNow();
  }

  refresh(): void {
    this.#pace.schedule();
  }

  async #load(): Promise<void> {
    const place = this.#place;
    const tags = unique(this.#wants.all.flat());
    if (place === null || tags.length === 0 || (place.at === null && place.range === null)) return;
    this.#abort = new AbortController();
    try {
      await this.#fetch(place, tags, this.#abort.signal);
      this.error = null;
    } catch (error) {
      if (!isAbortError(error)) this.error = toProblem(error);
    }
  }

  async #fetch({ view, at, range }: TablePosition, tags: readonly string[], signal: AbortSignal) {
    const { runs, x, smoothing, baseline } = view;
    const ask = { runs, tags, x, smoothing, baseline };
    if (range) {
      const [start, stop] = range;
      const answer = await this.#api.post<RangeStatsResponse>(
        'range',
        { ...ask, start, stop },
        signal,
      );
      for (const [tag, rows] of rowsByTag(tags, answer.rows)) this.#range.set(tag, rows);
    } else {
      const answer = await this.#api.post<NearestPointsResponse>('at', { ...ask, at }, signal);
      for (const [tag, rows] of rowsByTag(tags, answer.rows)) this.#at.set(tag, rows);
    }
  }
}
