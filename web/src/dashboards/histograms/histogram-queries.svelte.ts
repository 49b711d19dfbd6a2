import { SvelteMap } from 'svelte/reactivity';

import { isAbortError, toProblem } from '../../api/errors';
import { RequestScheduler } from '../../api/request-scheduler';
import type { Problem } from '../../api/schemas';
import type { HistogramViewport } from '../../charts/histogram/histogram-model';
import type { DashboardApi } from '../../plugin/context';
import type {
  BucketsResponse,
  HistogramAxis,
  HistogramChartRow,
  HistogramSeriesRow,
  HistogramsResponse,
  HistogramsView,
} from './schemas';

/** One chart on the screen. */
export interface ChartSubscription {
  readonly id: string;
  readonly tag: string;
  /** How many runs there is room for, and how many are passed over. */
  readonly runs: number;
  readonly skip: number;
  readonly zoom: HistogramViewport | null;
}

const VIEWPORT_SUFFIX = '\npart';

/** What the answer is kept under: that for a part beside that for the whole. */
export function getCacheKey({ id, zoom }: Pick<ChartSubscription, 'id' | 'zoom'>): string {
  return zoom === null ? id : id + VIEWPORT_SUFFIX;
}

/** The card whose answer is kept under a key. */
export function getCardId(key: string): string {
  return key.endsWith(VIEWPORT_SUFFIX) ? key.slice(0, -VIEWPORT_SUFFIX.length) : key;
}

/** What is on the screen, as often as it is there. */
export class SubscriptionSet {
  readonly #items = new Map<object, ChartSubscription>();

  /** Returns how to take it out again. */
  add(want: ChartSubscription): () => void {
    const token = {};
    this.#items.set(token, want);
    return () => void this.#items.delete(token);
  }

  /** Those for which `isStale` holds and that can be asked for together, each once. */
  pickBatch(isStale: (want: ChartSubscription) => boolean, most: number): ChartSubscription[] {
    const stale = new Map<string, ChartSubscription>();
    for (const want of this.#items.values()) if (isStale(want)) stale.set(getCacheKey(want), want);
    const [first, ...rest] = stale.values();
    if (!first) return [];
    return [first, ...rest.filter((want) => canBatch(first, want))].slice(0, most);
  }

  has(id: string): boolean {
    for (const want of this.#items.values()) if (want.id === id) return true;
    return false;
  }

  clear(): void {
    this.#items.clear();
  }
}

/** What one request asks for goes for all of its charts. */
function canBatch(one: ChartSubscription, other: ChartSubscription): boolean {
  return one.runs === other.runs && Boolean(one.zoom?.steps) === Boolean(other.zoom?.steps);
}

/** The chart of a tag as a copy of a board carries it, made into what a server would answer. */
export async function readStaticChart(
  api: DashboardApi,
  view: HistogramsView,
  { tag, runs, skip }: ChartSubscription,
  id: string,
): Promise<HistogramChartRow> {
  const carried = await api.get<HistogramChartRow>(`charts/${encodeURIComponent(tag)}`);
  const wanted = view.runs && new Set(view.runs);
  const having = carried.series.filter(({ run }) => wanted?.has(run) ?? true);
  const { grid, merge } = mergeBins(carried.grid, view.bins);
  const series = having
    .slice(skip, skip + runs)
    .map((one) => ({ ...one, x: getAxisValues(one, view.x), bins: one.bins && merge(one.bins) }));
  return { ...carried, id, runs: having.length, grid, series };
}

/** Where histograms stand on an axis. */
export function getAxisValues(
  { step, wall_time: wall }: HistogramSeriesRow,
  axis: HistogramAxis,
): Float64Array {
  if (axis === 'step') return step;
  if (axis === 'wall') return wall;
  const first = wall.find(Number.isFinite) ?? NaN;
  return wall.map((time) => time - first);
}

/** Several neighbouring bins as one, where so many fewer are wanted. */
export function mergeBins(
  grid: Float64Array | null,
  wanted: number,
): {
  grid: Float64Array | null;
  merge: (bins: Float32Array | Float64Array) => Float32Array | Float64Array;
} {
  const factor = grid && wanted > 0 ? Math.floor((grid.length - 1) / wanted) : 1;
  if (!grid || factor < 2) return { grid, merge: (bins) => bins };
  return {
    grid: grid.filter((_, at) => at % factor === 0),
    merge(bins) {
      const merged = new Float64Array(bins.length / factor);
      bins.forEach((count, at) => {
        const into = Math.floor(at / factor);
        merged[into] = (merged[into] ?? 0) + count;
      });
      return merged;
    },
  };
}

/** What is known of a chart. */
export interface HistogramResult {
  readonly response: HistogramChartRow | null;
  readonly error: Problem | null;
  /** What its steps are counted by, which may be another axis than the one asked for now. */
  readonly axis: HistogramAxis;
  /** What was asked; an answer to something else is stale. */
  readonly requestKey: string;
}

const REFRESH_INTERVAL_MS = 250;
/** A few charts soon are better than all of them late. */
const FIRST_BATCH_SIZE = 2;
const BATCH_SIZE = 4;
const MAX_CACHED_CHARTS = 120;
/** Who looks at a part wants to see all of it, as long as a screen can show it. */
const MAX_STEPS_ZOOMED = 600;

/** Charts that are on the screen are asked for together, and asked for again when they are stale. */
export class HistogramLoader {
  readonly #api: DashboardApi;
  readonly #isStatic: boolean;
  readonly #charts = new SvelteMap<string, HistogramResult>();
  readonly #wants = new SubscriptionSet();
  readonly #pace = new RequestScheduler(() => this.#load(), REFRESH_INTERVAL_MS);
  #view: HistogramsView | null = null;
  /** Counts views; a number is shorter than the names of 500 runs. */
  #viewCount = 0;
  #revision = 0;
  #abort = new AbortController();

  constructor(api: DashboardApi, isStatic: boolean) {
    this.#api = api;
    this.#isStatic = isStatic;
  }

  /** The best answer there is for what is seen of a chart; it may be an older one. */
  find(id: string, zoom: HistogramViewport | null): HistogramResult | undefined {
    const part = zoom ? this.#charts.get(getCacheKey({ id, zoom })) : undefined;
    return part?.response ? part : (this.#charts.get(id) ?? part);
  }

  /** Keeps the chart up to date until the function that it returns is called. */
  subscribe(want: ChartSubscription): () => void {
    const remove = this.#wants.add(want);
    if (this.#isStale(want)) this.#pace.scheduleNow();
    return remove;
  }

  /** What all charts are to show. */
  setRequest(view: HistogramsView): void {
    if (JSON.stringify(this.#view) === JSON.stringify(view)) return;
    this.#view = view;
    this.#viewCount++;
    this.#abort.abort();
    this.#pace.scheduleNow();
  }

  /** New histograms have come in. */
  refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#pace.schedule();
  }

  retry(id: string): void {
    for (const key of this.#charts.keys()) if (getCardId(key) === id) this.#charts.delete(key);
    this.#pace.scheduleNow();
  }

  stop(): void {
    this.#wants.clear();
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    const view = this.#view;
    const batch = this.#pickBatch();
    if (view === null || batch.length === 0) return;
    const asked = batch.map((want) => ({
      key: getCacheKey(want),
      ask: this.#askOf(want),
      x: view.x,
    }));
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
      if (!isAbortError(error)) this.#fail(asked, toProblem(error));
    }
    // What is stale because of new histograms waits for its turn.
    if (revision === this.#revision && this.#pickBatch().length > 0) this.#pace.scheduleNow();
  }

  async #ask(
    view: HistogramsView,
    batch: readonly ChartSubscription[],
    signal: AbortSignal,
  ): Promise<readonly HistogramChartRow[]> {
    if (this.#isStatic)
      return Promise.all(
        batch.map((want) => readStaticChart(this.#api, view, want, getCacheKey(want))),
      );
    const charts = batch.map((want) => {
      const [start, stop] = want.zoom?.steps ?? [null, null];
      const [low, high] = want.zoom?.values ?? [null, null];
      return { id: getCacheKey(want), tag: want.tag, skip: want.skip, start, stop, low, high };
    });
    const isPart = batch.some(({ zoom }) => zoom?.steps);
    const most = isPart ? Math.max(view.most, MAX_STEPS_ZOOMED) : view.most;
    const ask = { ...view, most, most_runs: batch[0]?.runs ?? 1, charts };
    return (await this.#api.post<HistogramsResponse>('query', ask, signal)).charts;
  }

  #pickBatch(): ChartSubscription[] {
    const most = this.#charts.size === 0 ? FIRST_BATCH_SIZE : BATCH_SIZE;
    return this.#wants.pickBatch((want) => this.#isStale(want), most);
  }

  #take(answer: HistogramChartRow, asked: PendingChart | undefined): void {
    const { error } = answer;
    if (!asked) return;
    const { ask, x } = asked;
    this.#charts.set(answer.id, {
      response: error ? null : answer,
      error: error,
      requestKey: ask,
      axis: x,
    });
    this.#forgetOldest();
  }

  /** It is not asked again by itself, but by the next change or by who looks at it. */
  #fail(asked: readonly PendingChart[], problem: Problem): void {
    for (const { key, ask, x } of asked) {
      const before = this.#charts.get(key);
      this.#charts.set(key, {
        response: before?.response ?? null,
        error: problem,
        requestKey: ask,
        axis: before?.axis ?? x,
      });
    }
  }

  #isStale(want: ChartSubscription): boolean {
    return this.#charts.get(getCacheKey(want))?.requestKey !== this.#askOf(want);
  }

  #askOf({ tag, runs, skip, zoom }: ChartSubscription): string {
    return JSON.stringify([this.#viewCount, this.#revision, tag, runs, skip, zoom]);
  }

  #forgetOldest(): void {
    for (const key of this.#charts.keys()) {
      if (this.#charts.size <= MAX_CACHED_CHARTS) return;
      if (!this.#wants.has(getCardId(key))) this.#charts.delete(key);
    }
  }
}

interface PendingChart {
  readonly key: string;
  readonly ask: string;
  readonly x: HistogramAxis;
}

/** How long a pointer rests before exact buckets are asked for. */
const HOVER_DELAY_MS = 50;
const MAX_CACHED_BUCKETS = 200;

/** Buckets as they were logged, of the histograms that were pointed at last. */
export class BucketCache {
  readonly #api: DashboardApi;
  readonly #known = new SvelteMap<string, BucketsResponse>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = '';

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  find(series: HistogramSeriesRow, at: number): BucketsResponse | undefined {
    return this.#known.get(makeBucketsPath(series, at));
  }

  /** Asks for the buckets of a histogram once the pointer rests on it. */
  request(series: HistogramSeriesRow, at: number): void {
    const path = makeBucketsPath(series, at);
    if (path === this.#asked || this.#known.has(path)) return;
    clearTimeout(this.#timer);
    this.#asked = path;
    this.#timer = setTimeout(() => void this.#read(path), HOVER_DELAY_MS);
  }

  async #read(path: string): Promise<void> {
    try {
      this.#known.set(path, await this.#api.get<BucketsResponse>(path));
      const [oldest] = this.#known.keys();
      if (this.#known.size > MAX_CACHED_BUCKETS && oldest !== undefined) this.#known.delete(oldest);
    } catch {
      // What is drawn is told all the same.
    }
    if (this.#asked === path) this.#asked = '';
  }
}

/** The same to the letter as `value_path` on the server makes it. */
function makeBucketsPath({ run, tag, index, mark }: HistogramSeriesRow, at: number): string {
  const about = { run, tag, index: index[at] ?? 0, mark: mark[at] ?? 0 };
  const query = Object.entries(about).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return `buckets?${query.join('&')}`;
}
