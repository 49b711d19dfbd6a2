import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import { isAbortError, toProblem } from '../../api/client';
import type { Problem } from '../../api/schemas';
import { RequestScheduler } from '../../api/request-scheduler';
import type { Card } from '../card-sections';
import type { CardGridState } from '../card-grid.svelte';
import { mergeSteps, type SortedSteps, runSteps, type StepsAnswer } from './step-series';

interface StepsResult {
  readonly series: readonly SortedSteps[];
  readonly problem: Problem | null;
  /** Key of the request; a response to another request is stale. */
  readonly ask: string;
}

const STEPS_REFRESH_MS = 500;
/** Tags per request: with more, the first cards would wait for the last. */
const MAX_TAGS_PER_REQUEST = 16;
const MAX_CACHED_TAGS = 200;

/** Loads the steps of the visible tags. Create it where effects can be created. */
export class StepsQuery {
  readonly #wall: CardGridState<Card>;
  readonly #known = new SvelteMap<string, StepsResult>();
  /** Number of subscribers per tag. */
  readonly #wants = new SvelteMap<string, number>();
  readonly #pace = new RequestScheduler(() => this.#load(), STEPS_REFRESH_MS);
  #runs: readonly string[] | null = null;
  /** Counts changes of the visible runs, as part of the request key. */
  #runsCount = 0;
  #revision = 0;
  #abort = new AbortController();

  /** Steps of all visible cards or of the full-screen card, sorted. */
  readonly allSteps = $derived.by(() => {
    const full = this.#wall.settings.fullScreen.value;
    const tags = full !== null && this.#wants.has(full) ? [full] : [...this.#wants.keys()];
    return mergeSteps(tags.flatMap((tag) => this.get(tag) ?? []));
  });

  constructor(wall: CardGridState<Card>) {
    this.#wall = wall;
    $effect(() => this.#show(wall.requestedRuns));
    $effect(() => {
      if (!wall.context.live.isPaused) this.#refresh(wall.revision);
    });
    $effect(() => () => this.#abort.abort());
  }

  /**
   * Subscribe to the steps of a tag; return a function that unsubscribes. Reads no reactive state,
   * so it can be called in an effect.
   */
  subscribe(tag: string): () => void {
    untrack(() => {
      this.#wants.set(tag, (this.#wants.get(tag) ?? 0) + 1);
      if (this.#isStale(tag)) this.#pace.scheduleNow();
    });
    return () => untrack(() => this.#leave(tag));
  }

  /** Return the steps of the visible runs in their order; undefined while loading. */
  get(tag: string): readonly SortedSteps[] | undefined {
    const known = this.#known.get(tag);
    if (!known) return undefined;
    const byRun = Object.fromEntries(known.series.map((steps) => [steps.run, steps]));
    return this.#wall.context.runs.visible.flatMap(({ name }) => byRun[name] ?? []);
  }

  errorOf(tag: string): Problem | null {
    return this.#known.get(tag)?.problem ?? null;
  }

  retry(tag: string): void {
    this.#known.delete(tag);
    this.#pace.scheduleNow();
  }

  #leave(tag: string): void {
    const left = (this.#wants.get(tag) ?? 0) - 1;
    if (left > 0) this.#wants.set(tag, left);
    else this.#wants.delete(tag);
  }

  #show(runs: readonly string[] | null): void {
    this.#runs = runs;
    this.#runsCount++;
    this.#abort.abort();
    this.#pace.scheduleNow();
  }

  /** Reload after new data, rate limited. */
  #refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#pace.schedule();
  }

  async #load(): Promise<void> {
    const tags = this.#findStale().slice(0, MAX_TAGS_PER_REQUEST);
    if (tags.length === 0) return;
    const ask = this.#ask;
    const revision = this.#revision;
    this.#abort = new AbortController();
    try {
      const series = await this.#fetch(tags, this.#abort.signal);
      for (const tag of tags) {
        const own = series.filter((steps) => steps.tag === tag);
        this.#known.set(tag, { series: own, problem: null, ask });
      }
    } catch (error) {
      if (!isAbortError(error)) this.#fail(tags, ask, toProblem(error));
    }
    this.#forgetOldest();
    // Refreshes after new data are rate limited.
    if (revision === this.#revision && this.#findStale().length > 0) this.#pace.scheduleNow();
  }

  async #fetch(tags: readonly string[], signal: AbortSignal): Promise<readonly SortedSteps[]> {
    const { api, isStatic } = this.#wall.context;
    // A static export has one file per tag.
    const answers = isStatic
      ? tags.map((tag) => api.get<StepsAnswer>(`steps/${encodeURIComponent(tag)}`, signal))
      : [api.post<StepsAnswer>('steps', { tags, runs: this.#runs }, signal)];
    return (await Promise.all(answers)).flatMap(({ series }) => series.map(runSteps));
  }

  /** Not retried automatically, only after a change or by the user. */
  #fail(tags: readonly string[], ask: string, problem: Problem): void {
    for (const tag of tags) {
      this.#known.set(tag, { series: this.#known.get(tag)?.series ?? [], problem, ask });
    }
  }

  get #ask(): string {
    return `${this.#runsCount} ${this.#revision}`;
  }

  #findStale(): string[] {
    return [...this.#wants.keys()].filter((tag) => this.#isStale(tag));
  }

  #isStale(tag: string): boolean {
    return this.#known.get(tag)?.ask !== this.#ask;
  }

  #forgetOldest(): void {
    for (const tag of this.#known.keys()) {
      if (this.#known.size <= MAX_CACHED_TAGS) return;
      if (!this.#wants.has(tag)) this.#known.delete(tag);
    }
  }
}
