import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import { isAbortError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import { RequestScheduler } from '../../api/request-scheduler';
import type { Card } from '../card-sections';
import type { CardGridState } from '../card-grid.svelte';
import { mergeSteps, type SortedSteps, runSteps, type StepsAnswer } from './step-series';

/** What is known of a tag. */
interface StepsResult {
  readonly series: readonly SortedSteps[];
  readonly problem: Problem | null;
  /** What was asked; an answer to something else is stale. */
  readonly ask: string;
}

const STEPS_REFRESH_MS = 500;
/** What one request may ask for: more would keep the first cards waiting for the last. */
const MAX_TAGS_PER_REQUEST = 16;
const MAX_CACHED_TAGS = 200;

/** The steps of the tags on the screen. To be made where effects live. */
export class StepsQuery {
  readonly #wall: CardGridState<Card>;
  readonly #known = new SvelteMap<string, StepsResult>();
  /** How many cards want each tag. */
  readonly #wants = new SvelteMap<string, number>();
  readonly #pace = new RequestScheduler(() => this.#load(), STEPS_REFRESH_MS);
  #runs: readonly string[] | null = null;
  /** Counts changes of the runs; a number is shorter than the names of 500. */
  #runsCount = 0;
  #revision = 0;
  #abort = new AbortController();

  /** The steps that any card on the screen has, sorted; of one over all others, its own. */
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
   * Keeps the steps of a tag up to date until the function that it returns is called. May be called
   * in an effect, which must not run again because of it.
   */
  subscribe(tag: string): () => void {
    untrack(() => {
      this.#wants.set(tag, (this.#wants.get(tag) ?? 0) + 1);
      if (this.#isStale(tag)) this.#pace.scheduleNow();
    });
    return () => untrack(() => this.#leave(tag));
  }

  /** Of the runs that are shown, in their order; undefined: not known yet. */
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

  /** The runs have grown. */
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
    // What is stale because of new values waits for its turn.
    if (revision === this.#revision && this.#findStale().length > 0) this.#pace.scheduleNow();
  }

  async #fetch(tags: readonly string[], signal: AbortSignal): Promise<readonly SortedSteps[]> {
    const { api, isStatic } = this.#wall.context;
    // A copy carries the steps tag by tag.
    const answers = isStatic
      ? tags.map((tag) => api.get<StepsAnswer>(`steps/${encodeURIComponent(tag)}`, signal))
      : [api.post<StepsAnswer>('steps', { tags, runs: this.#runs }, signal)];
    return (await Promise.all(answers)).flatMap(({ series }) => series.map(runSteps));
  }

  /** It is not asked again by itself, but by the next change or by who looks at it. */
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
