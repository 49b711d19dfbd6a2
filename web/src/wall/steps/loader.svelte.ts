import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import { isAbort, problemOf } from '../../api/client';
import type { Problem } from '../../api/types';
import { Pace } from '../../base/pace';
import type { Card } from '../card';
import type { CardWall } from '../card-wall.svelte';
import { mergeSteps, type RunSteps, runSteps, type StepsAnswer } from './steps';

/** What is known of a tag. */
interface Loaded {
  readonly series: readonly RunSteps[];
  readonly problem: Problem | null;
  /** What was asked; an answer to something else is stale. */
  readonly ask: string;
}

const PAUSE_MS = 500;
/** What one request may ask for: more would keep the first cards waiting for the last. */
const MOST_TAGS = 16;
const MOST_KEPT = 200;

/** The steps of the tags on the screen. To be made where effects live. */
export class StepLoader {
  readonly #wall: CardWall<Card>;
  readonly #known = new SvelteMap<string, Loaded>();
  /** How many cards want each tag. */
  readonly #wants = new SvelteMap<string, number>();
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #runs: readonly string[] | null = null;
  /** Counts changes of the runs; a number is shorter than the names of 500. */
  #runsCount = 0;
  #revision = 0;
  #abort = new AbortController();

  /** The steps that any card on the screen has, sorted; of one over all others, its own. */
  readonly allSteps = $derived.by(() => {
    const full = this.#wall.settings.fullScreen.value;
    const tags = full !== null && this.#wants.has(full) ? [full] : [...this.#wants.keys()];
    return mergeSteps(tags.flatMap((tag) => this.find(tag) ?? []));
  });

  constructor(wall: CardWall<Card>) {
    this.#wall = wall;
    $effect(() => this.#show(wall.runs));
    $effect(() => {
      if (!wall.context.live.paused) this.#refresh(wall.revision);
    });
    $effect(() => () => this.#abort.abort());
  }

  /**
   * Keeps the steps of a tag up to date until the function that it returns is called. May be called
   * in an effect, which must not run again because of it.
   */
  want(tag: string): () => void {
    untrack(() => {
      this.#wants.set(tag, (this.#wants.get(tag) ?? 0) + 1);
      if (this.#isStale(tag)) this.#pace.askNow();
    });
    return () => untrack(() => this.#leave(tag));
  }

  /** Of the runs that are shown, in their order; undefined: not known yet. */
  find(tag: string): readonly RunSteps[] | undefined {
    const known = this.#known.get(tag);
    if (!known) return undefined;
    const byRun = Object.fromEntries(known.series.map((steps) => [steps.run, steps]));
    return this.#wall.context.runs.shown.flatMap(({ name }) => byRun[name] ?? []);
  }

  problemOf(tag: string): Problem | null {
    return this.#known.get(tag)?.problem ?? null;
  }

  retry(tag: string): void {
    this.#known.delete(tag);
    this.#pace.askNow();
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
    this.#pace.askNow();
  }

  /** The runs have grown. */
  #refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#pace.ask();
  }

  async #load(): Promise<void> {
    const tags = this.#findStale().slice(0, MOST_TAGS);
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
      if (!isAbort(error)) this.#fail(tags, ask, problemOf(error));
    }
    this.#forgetOldest();
    // What is stale because of new values waits for its turn.
    if (revision === this.#revision && this.#findStale().length > 0) this.#pace.askNow();
  }

  async #fetch(tags: readonly string[], signal: AbortSignal): Promise<readonly RunSteps[]> {
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
      if (this.#known.size <= MOST_KEPT) return;
      if (!this.#wants.has(tag)) this.#known.delete(tag);
    }
  }
}
