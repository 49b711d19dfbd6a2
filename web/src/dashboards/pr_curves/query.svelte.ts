import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import { type SortedSteps, valuePath } from '../../api/client';
import { isAbortError, toProblem } from '../../api/errors';
import { RequestScheduler } from '../../api/request-scheduler';
import type { Problem } from '../../api/schemas';
import type { Context } from '../../plugin/context';
import { makeSeriesId } from './pr-curve';
import type { CurveRow, CurvesResponse, HistoryResponse, HistoryRow } from './schemas';

/** A curve on the screen: the one that `place` names, which is that of `step`. */
export interface CurveSubscription {
  readonly steps: SortedSteps;
  readonly index: number;
  /** As the server is asked for it; null: the last. */
  readonly step: number | null;
}

/** What no other curve is kept under. */
export function makeCurveKey(steps: SortedSteps, place: number): string;
export function makeCurveKey(row: CurveRow): string;
export function makeCurveKey(of: SortedSteps | CurveRow, place = 0): string {
  const { run, tag, index, mark } = of;
  const value = typeof index === 'number' ? index : index[place];
  return `${run}\n${tag}\n${value}\n${typeof mark === 'number' ? mark : mark[place]}`;
}

/** Those that one request can ask for, each once; those of the most cards first. */
export function groupByStep(wants: readonly CurveSubscription[]): CurveSubscription[][] {
  const groups = new Map<number | null, Map<string, CurveSubscription>>();
  for (const want of wants) {
    const group = groups.get(want.step) ?? new Map<string, CurveSubscription>();
    group.set(makeCurveKey(want.steps, want.index), want);
    groups.set(want.step, group);
  }
  const sorted = [...groups.values()].sort((one, other) => other.size - one.size);
  return sorted.map((group) => [...group.values()]);
}

/** What is on the screen, as often as it is there. */
export class SubscriptionSet<Item> {
  readonly #items = new Map<object, readonly Item[]>();

  /** Returns how to take the items out again. */
  add(items: readonly Item[]): () => void {
    const token = {};
    this.#items.set(token, items);
    return () => void this.#items.delete(token);
  }

  get all(): Item[] {
    return [...this.#items.values()].flat();
  }

  clear(): void {
    this.#items.clear();
  }
}

/** What is remembered of curves besides themselves. */
export class CurveFallbacks {
  /** What was last seen of each run and tag: shown until what is wanted instead has come. */
  readonly latest = new Map<string, CurveRow>();
  /** Those that were asked for in vain. */
  readonly missing = new Set<string>();
}

export function makeCurveKeys(wants: readonly CurveSubscription[]): ReadonlySet<string> {
  return new Set(wants.map(({ steps, index }) => makeCurveKey(steps, index)));
}

export function unique<Item>(items: readonly Item[]): Item[] {
  return [...new Set(items)];
}

const MIN_CURVES_INTERVAL_MS = 50;
/** Some ten kilobytes each. */
const MAX_CACHED_CURVES = 800;

/** The curves of the cards on the screen, asked for together. A curve never becomes another one. */
export class CurvesQuery {
  readonly #context: Context;
  readonly #curves = new SvelteMap<string, CurveRow>();
  readonly #fallbacks = new CurveFallbacks();
  readonly #subscriptions = new SubscriptionSet<CurveSubscription>();
  readonly #scheduler = new RequestScheduler(() => this.#load(), MIN_CURVES_INTERVAL_MS);
  #abort = new AbortController();
  /** False while somebody waits for curves. */
  isReady = $state(true);
  /** Why the last request brought nothing. */
  error = $state.raw<Problem | null>(null);

  constructor(context: Context) {
    this.#context = context;
  }

  find(steps: SortedSteps, place: number): CurveRow | undefined {
    return this.#curves.get(makeCurveKey(steps, place));
  }

  /** The curve that was seen there before. */
  findLatest(steps: SortedSteps): CurveRow | undefined {
    return this.#fallbacks.latest.get(makeSeriesId(steps));
  }

  /** Keeps curves at hand until the function that it returns is called. */
  subscribe(wants: readonly CurveSubscription[]): () => void {
    const remove = this.#subscriptions.add(wants);
    if (untrack(() => this.#findMissing()).length > 0) {
      this.isReady = false;
      this.#scheduler.scheduleNow();
    }
    return remove;
  }

  retry(): void {
    this.#fallbacks.missing.clear();
    this.error = null;
    this.#scheduler.scheduleNow();
  }

  dispose(): void {
    this.#subscriptions.clear();
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    const [group] = groupByStep(this.#findMissing());
    if (!group) {
      this.isReady = true;
      return;
    }
    this.#abort = new AbortController();
    try {
      const curves = await this.#fetch(group, this.#abort.signal);
      for (const curve of curves) this.#store(curve);
      this.error = null;
    } catch (error) {
      if (!isAbortError(error)) this.error = toProblem(error);
    }
    for (const { steps, index } of group) {
      const key = makeCurveKey(steps, index);
      if (!this.#curves.has(key)) this.#fallbacks.missing.add(key);
    }
    this.#evict();
    this.isReady = this.#findMissing().length === 0;
    if (!this.isReady) this.#scheduler.scheduleNow();
  }

  async #fetch(
    group: readonly CurveSubscription[],
    signal: AbortSignal,
  ): Promise<readonly CurveRow[]> {
    const { api, isStatic } = this.#context;
    // A copy carries each curve by itself.
    if (isStatic) {
      const asked = group.map(({ steps, index }) =>
        api.get<CurveRow>(valuePath('curve', steps, index), signal),
      );
      return Promise.all(asked);
    }
    const tags = unique(group.map(({ steps }) => steps.tag));
    const runs = unique(group.map(({ steps }) => steps.run));
    const step = group[0]?.step ?? null;
    return (await api.post<CurvesResponse>('curves', { tags, runs, step }, signal)).curves;
  }

  #store(curve: CurveRow): void {
    this.#curves.set(makeCurveKey(curve), curve);
    this.#fallbacks.latest.set(makeSeriesId(curve), curve);
  }

  #findMissing(): CurveSubscription[] {
    return this.#subscriptions.all.filter(({ steps, index }) => {
      const key = makeCurveKey(steps, index);
      return !this.#curves.has(key) && !this.#fallbacks.missing.has(key);
    });
  }

  #evict(): void {
    if (this.#curves.size <= MAX_CACHED_CURVES) return;
    const wanted = makeCurveKeys(this.#subscriptions.all);
    for (const key of this.#curves.keys()) {
      if (this.#curves.size <= MAX_CACHED_CURVES) return;
      if (!wanted.has(key)) this.#curves.delete(key);
    }
  }
}

const MIN_HISTORY_INTERVAL_MS = 1000;
/** What one request may ask for: every step of a tag has to be read. */
const MAX_HISTORY_TAGS = 4;

interface LoadedHistory {
  readonly rows: readonly HistoryRow[];
  /** What was asked; an answer to something else is stale. */
  readonly requestKey: string;
}

/** How curves went over the steps, of the tags on the screen. */
export class HistoryQuery {
  readonly #context: Context;
  readonly #cache = new SvelteMap<string, LoadedHistory>();
  readonly #subscriptions = new SubscriptionSet<string>();
  readonly #scheduler = new RequestScheduler(() => this.#load(), MIN_HISTORY_INTERVAL_MS);
  #runs: readonly string[] | null = null;
  #runsVersion = 0;
  #revision = 0;
  #abort = new AbortController();

  constructor(context: Context) {
    this.#context = context;
  }

  find(tag: string): readonly HistoryRow[] {
    return this.#cache.get(tag)?.rows ?? [];
  }

  /** Keeps tags up to date until the function that it returns is called. */
  subscribe(tags: readonly string[]): () => void {
    const remove = this.#subscriptions.add(tags);
    if (untrack(() => this.#findStale()).length > 0) this.#scheduler.scheduleNow();
    return remove;
  }

  /** null stands for all runs. */
  setRuns(runs: readonly string[] | null): void {
    this.#runs = runs;
    this.#runsVersion++;
    this.#abort.abort();
    this.#scheduler.scheduleNow();
  }

  /** The runs have grown. */
  refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#scheduler.schedule();
  }

  dispose(): void {
    this.#subscriptions.clear();
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    const tags = this.#findStale().slice(0, MAX_HISTORY_TAGS);
    if (tags.length === 0) return;
    const [ask, revision] = [this.#requestKey, this.#revision];
    this.#abort = new AbortController();
    try {
      const rows = await this.#fetch(tags, this.#abort.signal);
      for (const tag of tags)
        this.#cache.set(tag, { rows: rows.filter((row) => row.tag === tag), requestKey: ask });
    } catch (error) {
      // The curves themselves say what is wrong; what was known before is still true.
      if (isAbortError(error)) return;
      for (const tag of tags) this.#cache.set(tag, { rows: this.find(tag), requestKey: ask });
    }
    // What is stale because of new steps waits for its turn.
    if (revision === this.#revision && this.#findStale().length > 0) this.#scheduler.scheduleNow();
  }

  async #fetch(tags: readonly string[], signal: AbortSignal): Promise<readonly HistoryRow[]> {
    const { api, isStatic } = this.#context;
    const answers = isStatic
      ? tags.map((tag) => api.get<HistoryResponse>(`history/${encodeURIComponent(tag)}`, signal))
      : [api.post<HistoryResponse>('history', { tags, runs: this.#runs }, signal)];
    return (await Promise.all(answers)).flatMap(({ series }) => series);
  }

  get #requestKey(): string {
    return `${this.#runsVersion} ${this.#revision}`;
  }

  #findStale(): string[] {
    return unique(this.#subscriptions.all).filter(
      (tag) => this.#cache.get(tag)?.requestKey !== this.#requestKey,
    );
  }
}
