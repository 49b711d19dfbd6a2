import { SvelteMap } from 'svelte/reactivity';

import { isAbort } from '../../api/client';
import type { ChartAnswer, QueryAnswer, QueryAsk } from '../../api/scalars';
import { Pace } from '../../base/pace';
import type { Context, ShownRun } from '../../plugin/context';
import { Demand } from '../../base/demand';
import { COLUMNS, readSparks, type Spark } from './spark';

/** How many runs one sparkline can show and still be read. */
export const MOST_LINES = 8;

/** Not every run has every tag, so more are asked for than are shown. */
const MOST_ASKED = 32;
const MOST_CHARTS = 64;
const PAUSE_MS = 1000;

/** The sparklines of the rows that are on the screen; nothing else is asked for. */
export class Sparks {
  readonly #context: Context;
  readonly #charts = new SvelteMap<string, readonly Spark[]>();
  readonly #demand = new Demand();
  #runs: readonly ShownRun[] = [];
  #abort = new AbortController();
  readonly #loading = new Pace(() => this.#load(), PAUSE_MS);

  constructor(context: Context) {
    this.#context = context;
  }

  show(runs: readonly ShownRun[]): void {
    this.#abort.abort();
    this.#runs = runs.slice(0, MOST_ASKED);
    this.#demand.markStale();
    this.#loading.askNow();
  }

  refresh(): void {
    this.#demand.markStale();
    this.#loading.ask();
  }

  stop(): void {
    this.#abort.abort();
  }

  find(tag: string): readonly Spark[] | undefined {
    return this.#charts.get(tag);
  }

  /** Keeps the chart of `tag` up to date until the function that it returns is called. */
  want(tag: string): () => void {
    const letGo = this.#demand.want(tag);
    if (this.#demand.missing().length > 0) this.#loading.askNow();
    return letGo;
  }

  async #load(): Promise<void> {
    const missing = this.#demand.missing();
    const asked = missing.slice(0, MOST_CHARTS);
    if (asked.length === 0) return;
    this.#abort = new AbortController();
    this.#demand.markFresh(asked);
    try {
      const ask = askFor(asked, this.#runs);
      const answer = await this.#context.api.post<QueryAnswer>('query', ask, this.#abort.signal);
      for (const chart of answer.charts) this.#charts.set(chart.id, this.#read(chart));
    } catch (error) {
      // Rows are worth showing without their lines; the next change asks for these again.
      if (!isAbort(error)) this.#demand.markStale();
    }
    if (missing.length > asked.length) this.#loading.askNow();
  }

  #read(chart: ChartAnswer): readonly Spark[] {
    return readSparks(chart, this.#runs).slice(0, MOST_LINES);
  }
}

function askFor(tags: readonly string[], runs: readonly ShownRun[]): QueryAsk {
  return {
    width: COLUMNS,
    runs: runs.map(({ name }) => name),
    x: 'step',
    smoothing: null,
    overwritten: false,
    baseline: null,
    groups: null,
    center: 'mean',
    band: 'std',
    charts: tags.map((tag) => ({ id: tag, tags: [tag], start: null, stop: null })),
  };
}
