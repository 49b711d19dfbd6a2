import { SvelteMap } from 'svelte/reactivity';

import { isAbort, problemOf } from '../../../api/client';
import type { ChartAnswer, QueryAnswer, SpreadAxis, ViewAsk } from '../../../api/histograms';
import type { Problem } from '../../../api/types';
import { Pace } from '../../../base/pace';
import type { SpreadZoom } from '../../../charts/spread/types';
import type { Api } from '../../../plugin/context';
import { readCopy } from './copy';
import { idOf, keyOf, type Want, Wants } from './wants';

/** What is known of a chart. */
export interface Loaded {
  readonly answer: ChartAnswer | null;
  readonly problem: Problem | null;
  /** What its steps are counted by, which may be another axis than the one asked for now. */
  readonly x: SpreadAxis;
  /** What was asked; an answer to something else is stale. */
  readonly ask: string;
}

const PAUSE_MS = 250;
/** A few charts soon are better than all of them late. */
const FIRST_CHARTS = 2;
const MOST_CHARTS = 4;
const MOST_KEPT = 120;
/** Who looks at a part wants to see all of it, as long as a screen can show it. */
const MOST_OF_PART = 600;

/** Charts that are on the screen are asked for together, and asked for again when they are stale. */
export class Loader {
  readonly #api: Api;
  readonly #isStatic: boolean;
  readonly #charts = new SvelteMap<string, Loaded>();
  readonly #wants = new Wants();
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #view: ViewAsk | null = null;
  /** Counts views; a number is shorter than the names of 500 runs. */
  #viewCount = 0;
  #revision = 0;
  #abort = new AbortController();

  constructor(api: Api, isStatic: boolean) {
    this.#api = api;
    this.#isStatic = isStatic;
  }

  /** The best answer there is for what is seen of a chart; it may be an older one. */
  find(id: string, zoom: SpreadZoom | null): Loaded | undefined {
    const part = zoom ? this.#charts.get(keyOf({ id, zoom })) : undefined;
    return part?.answer ? part : (this.#charts.get(id) ?? part);
  }

  /** Keeps the chart up to date until the function that it returns is called. */
  want(want: Want): () => void {
    const remove = this.#wants.add(want);
    if (this.#isStale(want)) this.#pace.askNow();
    return remove;
  }

  /** What all charts are to show. */
  show(view: ViewAsk): void {
    if (JSON.stringify(this.#view) === JSON.stringify(view)) return;
    this.#view = view;
    this.#viewCount++;
    this.#abort.abort();
    this.#pace.askNow();
  }

  /** New histograms have come in. */
  refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#pace.ask();
  }

  retry(id: string): void {
    for (const key of this.#charts.keys()) if (idOf(key) === id) this.#charts.delete(key);
    this.#pace.askNow();
  }

  stop(): void {
    this.#wants.clear();
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    const view = this.#view;
    const batch = this.#pickBatch();
    if (view === null || batch.length === 0) return;
    const asked = batch.map((want) => ({ key: keyOf(want), ask: this.#askOf(want), x: view.x }));
    const revision = this.#revision;
    this.#abort = new AbortController();
    try {
      const charts = await this.#ask(view, batch, this.#abort.signal);
      for (const chart of charts)
        this.#take(
          chart,
          asked.find(({ key }) => key === chart.id),
        );
    } catch (error) {
      if (!isAbort(error)) this.#fail(asked, problemOf(error));
    }
    // What is stale because of new histograms waits for its turn.
    if (revision === this.#revision && this.#pickBatch().length > 0) this.#pace.askNow();
  }

  async #ask(
    view: ViewAsk,
    batch: readonly Want[],
    signal: AbortSignal,
  ): Promise<readonly ChartAnswer[]> {
    if (this.#isStatic)
      return Promise.all(batch.map((want) => readCopy(this.#api, view, want, keyOf(want))));
    const charts = batch.map((want) => {
      const [start, stop] = want.zoom?.steps ?? [null, null];
      const [low, high] = want.zoom?.values ?? [null, null];
      return { id: keyOf(want), tag: want.tag, skip: want.skip, start, stop, low, high };
    });
    const isPart = batch.some(({ zoom }) => zoom?.steps);
    const most = isPart ? Math.max(view.most, MOST_OF_PART) : view.most;
    const ask = { ...view, most, most_runs: batch[0]?.runs ?? 1, charts };
    return (await this.#api.post<QueryAnswer>('query', ask, signal)).charts;
  }

  #pickBatch(): Want[] {
    const most = this.#charts.size === 0 ? FIRST_CHARTS : MOST_CHARTS;
    return this.#wants.pick((want) => this.#isStale(want), most);
  }

  #take(answer: ChartAnswer, asked: Asked | undefined): void {
    const { error } = answer;
    if (!asked) return;
    const { ask, x } = asked;
    this.#charts.set(answer.id, { answer: error ? null : answer, problem: error, ask, x });
    this.#forgetOldest();
  }

  /** It is not asked again by itself, but by the next change or by who looks at it. */
  #fail(asked: readonly Asked[], problem: Problem): void {
    for (const { key, ask, x } of asked) {
      const before = this.#charts.get(key);
      this.#charts.set(key, { answer: before?.answer ?? null, problem, ask, x: before?.x ?? x });
    }
  }

  #isStale(want: Want): boolean {
    return this.#charts.get(keyOf(want))?.ask !== this.#askOf(want);
  }

  #askOf({ tag, runs, skip, zoom }: Want): string {
    return JSON.stringify([this.#viewCount, this.#revision, tag, runs, skip, zoom]);
  }

  #forgetOldest(): void {
    for (const key of this.#charts.keys()) {
      if (this.#charts.size <= MOST_KEPT) return;
      if (!this.#wants.has(idOf(key))) this.#charts.delete(key);
    }
  }
}

interface Asked {
  readonly key: string;
  readonly ask: string;
  readonly x: SpreadAxis;
}
