import { SvelteMap } from 'svelte/reactivity';

import { isAbortError, toProblem } from '../api/errors';
import type { ChartRow, ChartsView } from '../api/scalar-schemas';
import type { ChartsResponse, Problem } from '../api/schemas';
import { RequestScheduler } from '../api/request-scheduler';
import type { NumberRange } from '../charts/types';
import type { DashboardApi } from '../plugin/context';
import {
  mapByChartKey,
  needsOtherPoints,
  subscribedIds,
  chartKey,
  createChartsRequest,
  overlap,
  pickBatch,
  roundWidthUp,
  type ChartSubscription,
  SubscriptionSet,
} from './chart-request';

/** What is known of a chart. */
export interface ChartResult {
  readonly response: ChartRow | null;
  readonly error: Problem | null;
  /** True where the server has said that there is no such chart, and would say so again. */
  readonly isRejected: boolean;
  /** What part of it the answer is for; null: everything. */
  readonly visibleRange: NumberRange | null;
  /** What was asked; an answer to something else is stale. */
  readonly requestKey: string;
}

/** A point is to be on the screen within a second of being written, also while they come quickly. */
const CHARTS_REFRESH_MS = 250;
/** What one request may bring, in lines: more would keep the first cards waiting for the last. */
const MAX_LINES_PER_REQUEST = 400;
const MAX_LINES_FIRST_REQUEST = 40;
const MAX_CHARTS_PER_REQUEST = 32;
const MAX_CACHED_CHARTS = 200;

/** Charts that are on the screen are asked for together, and asked for again when they are stale. */
export class ChartsQuery {
  readonly #api: DashboardApi;
  readonly #charts = new SvelteMap<string, ChartResult>();
  readonly #wants = new SubscriptionSet<ChartSubscription>();
  readonly #pace = new RequestScheduler(() => this.#load(), CHARTS_REFRESH_MS);
  #view: ChartsView | null = null;
  #runs = 0;
  /** Counts views; a number is shorter than the names of 500 runs. */
  #viewCount = 0;
  #revision = 0;
  #abort = new AbortController();
  #underWay: readonly ChartSubscription[] = [];

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  /** The best answer there is for what is seen of a chart; it may be an older one. */
  get(id: string, seen: NumberRange | null): ChartResult | undefined {
    const whole = this.#charts.get(id);
    if (seen === null || isComplete(whole)) return whole;
    const part = this.#charts.get(chartKey({ id, visibleRange: seen }));
    return part?.visibleRange && overlap(part.visibleRange, seen) ? part : whole;
  }

  /** Keeps the chart up to date until the function that it returns is called. */
  subscribe(want: ChartSubscription): () => void {
    const remove = this.#wants.add(want);
    if (this.#isStale(this.#bestOf(want))) this.#pace.scheduleNow();
    return () => {
      remove();
      this.#dropUnwanted();
    };
  }

  /** What all charts are to show. A slider that moves lets the answer under way still come in. */
  setView(view: ChartsView, runs: number): void {
    const before = this.#view;
    this.#runs = runs;
    if (JSON.stringify(before) === JSON.stringify(view)) return;
    this.#view = view;
    this.#viewCount++;
    if (before && needsOtherPoints(before, view)) this.#abort.abort();
    this.#pace.scheduleNow();
  }

  /** New points have come in. */
  refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#pace.schedule();
  }

  retry(id: string): void {
    for (const key of [id, chartKey({ id, visibleRange: [0, 0] })]) this.#charts.delete(key);
    this.#pace.scheduleNow();
  }

  stop(): void {
    this.#wants.clear();
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    if (this.#view === null) return;
    const batch = pickBatch(this.#findStale(), this.#countCharts());
    if (batch.length === 0) return;
    const asked = mapByChartKey(batch, (want) => this.#promise(want));
    const revision = this.#revision;
    const isFirst = this.#charts.size === 0;
    this.#abort = new AbortController();
    this.#underWay = batch;
    try {
      const query = createChartsRequest(this.#view, batch);
      const answer = await this.#api.post<ChartsResponse>('query', query, this.#abort.signal);
      for (const chart of answer.charts) this.#take(chart, asked.get(chart.id));
    } catch (error) {
      if (!isAbortError(error)) this.#fail(asked, toProblem(error));
    }
    this.#underWay = [];
    // What came is to be seen before the browser is busy with more.
    if (isFirst) await nextFrame().then(nextFrame);
    // What is stale because of new points waits for its turn.
    if (revision === this.#revision && this.#findStale().length > 0) this.#pace.scheduleNow();
  }

  /** While there is nothing to see yet, a few charts soon are better than all of them late. */
  #countCharts(): number {
    const lines = this.#charts.size === 0 ? MAX_LINES_FIRST_REQUEST : MAX_LINES_PER_REQUEST;
    return Math.min(
      MAX_CHARTS_PER_REQUEST,
      Math.max(1, Math.floor(lines / Math.max(1, this.#runs))),
    );
  }

  #promise({ visibleRange, ...want }: ChartSubscription): ChartResult {
    return {
      response: null,
      error: null,
      isRejected: false,
      visibleRange,
      requestKey: this.#askOf({ visibleRange, ...want }),
    };
  }

  #take(chart: ChartRow, asked: ChartResult | undefined): void {
    if (!asked) return;
    const { error } = chart;
    const isRefused = error !== null;
    this.#charts.set(chart.id, {
      ...asked,
      response: isRefused ? null : chart,
      error: error,
      isRejected: isRefused,
    });
    this.#forgetOldest();
  }

  /** It is not asked again by itself, but by the next change or by who looks at it. */
  #fail(asked: ReadonlyMap<string, ChartResult>, problem: Problem): void {
    for (const [key, loaded] of asked) {
      this.#charts.set(key, {
        ...loaded,
        response: this.#charts.get(key)?.response ?? null,
        error: problem,
      });
    }
  }

  /** A chart of which every point is here needs no other answer for a part. */
  #bestOf(want: ChartSubscription): ChartSubscription {
    return isComplete(this.#charts.get(want.id)) ? { ...want, visibleRange: null } : want;
  }

  #findStale(): ChartSubscription[] {
    const wants = this.#wants.all.map((want) => this.#bestOf(want));
    return wants.filter((want) => this.#isStale(want));
  }

  #isStale(want: ChartSubscription): boolean {
    return this.#charts.get(chartKey(want))?.requestKey !== this.#askOf(want);
  }

  #askOf({ tags, visibleRange, width }: ChartSubscription): string {
    return JSON.stringify([
      this.#viewCount,
      this.#revision,
      tags,
      visibleRange,
      roundWidthUp(width),
    ]);
  }

  /** Takes a request back when everything that it asks for has left the screen. */
  #dropUnwanted(): void {
    if (this.#underWay.length === 0) return;
    const wanted = subscribedIds(this.#wants.all);
    if (!this.#underWay.some(({ id }) => wanted.has(id))) this.#abort.abort();
  }

  #forgetOldest(): void {
    if (this.#charts.size <= MAX_CACHED_CHARTS) return;
    const wanted = subscribedIds(this.#wants.all);
    for (const key of this.#charts.keys()) {
      if (this.#charts.size <= MAX_CACHED_CHARTS) return;
      if (!wanted.has(key.replace(/\npart$/, ''))) this.#charts.delete(key);
    }
  }
}

function nextFrame(): Promise<unknown> {
  // A page that nobody sees draws nothing, and must not wait for it.
  return new Promise((resolve) =>
    document.hidden ? resolve(null) : requestAnimationFrame(resolve),
  );
}

function isComplete(loaded: ChartResult | undefined): boolean {
  return loaded?.visibleRange === null && loaded.response !== null && !loaded.response.reduced;
}
