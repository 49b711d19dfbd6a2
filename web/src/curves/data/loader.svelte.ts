import { SvelteMap } from 'svelte/reactivity';

import { isAbort, problemOf } from '../../api/client';
import type { ChartAnswer, QueryAnswer, ViewAsk } from '../../api/scalars';
import type { Problem } from '../../api/types';
import { Pace } from '../../base/pace';
import type { Span } from '../../charts/types';
import type { Api } from '../../plugin/context';
import {
  byKey,
  differsInData,
  idsOf,
  keyOf,
  makeQuery,
  overlap,
  pickBatch,
  roundUp,
  type Want,
  Wants,
} from './want';

/** What is known of a chart. */
export interface Loaded {
  readonly answer: ChartAnswer | null;
  readonly problem: Problem | null;
  /** True where the server has said that there is no such chart, and would say so again. */
  readonly isRefused: boolean;
  /** What part of it the answer is for; null: everything. */
  readonly seen: Span | null;
  /** What was asked; an answer to something else is stale. */
  readonly ask: string;
}

/** A point is to be on the screen within a second of being written, also while they come quickly. */
const PAUSE_MS = 250;
/** What one request may bring, in lines: more would keep the first cards waiting for the last. */
const MOST_LINES = 400;
const FIRST_LINES = 40;
const MOST_CHARTS = 32;
const MOST_KEPT = 200;

/** Charts that are on the screen are asked for together, and asked for again when they are stale. */
export class Loader {
  readonly #api: Api;
  readonly #charts = new SvelteMap<string, Loaded>();
  readonly #wants = new Wants<Want>();
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #view: ViewAsk | null = null;
  #runs = 0;
  /** Counts views; a number is shorter than the names of 500 runs. */
  #viewCount = 0;
  #revision = 0;
  #abort = new AbortController();
  #underWay: readonly Want[] = [];

  constructor(api: Api) {
    this.#api = api;
  }

  /** The best answer there is for what is seen of a chart; it may be an older one. */
  find(id: string, seen: Span | null): Loaded | undefined {
    const whole = this.#charts.get(id);
    if (seen === null || isComplete(whole)) return whole;
    const part = this.#charts.get(keyOf({ id, seen }));
    return part?.seen && overlap(part.seen, seen) ? part : whole;
  }

  /** Keeps the chart up to date until the function that it returns is called. */
  want(want: Want): () => void {
    const remove = this.#wants.add(want);
    if (this.#isStale(this.#bestOf(want))) this.#pace.askNow();
    return () => {
      remove();
      this.#dropUnwanted();
    };
  }

  /** What all charts are to show. A slider that moves lets the answer under way still come in. */
  show(view: ViewAsk, runs: number): void {
    const before = this.#view;
    this.#runs = runs;
    if (JSON.stringify(before) === JSON.stringify(view)) return;
    this.#view = view;
    this.#viewCount++;
    if (before && differsInData(before, view)) this.#abort.abort();
    this.#pace.askNow();
  }

  /** New points have come in. */
  refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#pace.ask();
  }

  retry(id: string): void {
    for (const key of [id, keyOf({ id, seen: [0, 0] })]) this.#charts.delete(key);
    this.#pace.askNow();
  }

  stop(): void {
    this.#wants.clear();
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    if (this.#view === null) return;
    const batch = pickBatch(this.#findStale(), this.#countCharts());
    if (batch.length === 0) return;
    const asked = byKey(batch, (want) => this.#promise(want));
    const revision = this.#revision;
    const isFirst = this.#charts.size === 0;
    this.#abort = new AbortController();
    this.#underWay = batch;
    try {
      const query = makeQuery(this.#view, batch);
      const answer = await this.#api.post<QueryAnswer>('query', query, this.#abort.signal);
      for (const chart of answer.charts) this.#take(chart, asked.get(chart.id));
    } catch (error) {
      if (!isAbort(error)) this.#fail(asked, problemOf(error));
    }
    this.#underWay = [];
    // What came is to be seen before the browser is busy with more.
    if (isFirst) await nextFrame().then(nextFrame);
    // What is stale because of new points waits for its turn.
    if (revision === this.#revision && this.#findStale().length > 0) this.#pace.askNow();
  }

  /** While there is nothing to see yet, a few charts soon are better than all of them late. */
  #countCharts(): number {
    const lines = this.#charts.size === 0 ? FIRST_LINES : MOST_LINES;
    return Math.min(MOST_CHARTS, Math.max(1, Math.floor(lines / Math.max(1, this.#runs))));
  }

  #promise({ seen, ...want }: Want): Loaded {
    return {
      answer: null,
      problem: null,
      isRefused: false,
      seen,
      ask: this.#askOf({ seen, ...want }),
    };
  }

  #take(chart: ChartAnswer, asked: Loaded | undefined): void {
    if (!asked) return;
    const { error } = chart;
    const isRefused = error !== null;
    this.#charts.set(chart.id, {
      ...asked,
      answer: isRefused ? null : chart,
      problem: error,
      isRefused,
    });
    this.#forgetOldest();
  }

  /** It is not asked again by itself, but by the next change or by who looks at it. */
  #fail(asked: ReadonlyMap<string, Loaded>, problem: Problem): void {
    for (const [key, loaded] of asked) {
      this.#charts.set(key, { ...loaded, answer: this.#charts.get(key)?.answer ?? null, problem });
    }
  }

  /** A chart of which every point is here needs no other answer for a part. */
  #bestOf(want: Want): Want {
    return isComplete(this.#charts.get(want.id)) ? { ...want, seen: null } : want;
  }

  #findStale(): Want[] {
    const wants = this.#wants.all.map((want) => this.#bestOf(want));
    return wants.filter((want) => this.#isStale(want));
  }

  #isStale(want: Want): boolean {
    return this.#charts.get(keyOf(want))?.ask !== this.#askOf(want);
  }

  #askOf({ tags, seen, width }: Want): string {
    return JSON.stringify([this.#viewCount, this.#revision, tags, seen, roundUp(width)]);
  }

  /** Takes a request back when everything that it asks for has left the screen. */
  #dropUnwanted(): void {
    if (this.#underWay.length === 0) return;
    const wanted = idsOf(this.#wants.all);
    if (!this.#underWay.some(({ id }) => wanted.has(id))) this.#abort.abort();
  }

  #forgetOldest(): void {
    if (this.#charts.size <= MOST_KEPT) return;
    const wanted = idsOf(this.#wants.all);
    for (const key of this.#charts.keys()) {
      if (this.#charts.size <= MOST_KEPT) return;
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

function isComplete(loaded: Loaded | undefined): boolean {
  return loaded?.seen === null && loaded.answer !== null && !loaded.answer.reduced;
}
