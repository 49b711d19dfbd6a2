import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import { isAbort } from '../../../api/client';
import type { HistoryAnswer, HistoryRow } from '../../../api/pr-curves';
import { Pace } from '../../../base/pace';
import type { Context } from '../../../plugin/context';
import { unique, Wants } from './want';

const PAUSE_MS = 1000;
/** What one request may ask for: every step of a tag has to be read. */
const MOST_TAGS = 4;

interface Loaded {
  readonly rows: readonly HistoryRow[];
  /** What was asked; an answer to something else is stale. */
  readonly ask: string;
}

/** How curves went over the steps, of the tags on the screen. */
export class HistoryLoader {
  readonly #context: Context;
  readonly #known = new SvelteMap<string, Loaded>();
  readonly #wants = new Wants<string>();
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #runs: readonly string[] | null = null;
  #runsCount = 0;
  #revision = 0;
  #abort = new AbortController();

  constructor(context: Context) {
    this.#context = context;
  }

  find(tag: string): readonly HistoryRow[] {
    return this.#known.get(tag)?.rows ?? [];
  }

  /** Keeps tags up to date until the function that it returns is called. */
  want(tags: readonly string[]): () => void {
    const remove = this.#wants.add(tags);
    if (untrack(() => this.#findStale()).length > 0) this.#pace.askNow();
    return remove;
  }

  /** null stands for all runs. */
  show(runs: readonly string[] | null): void {
    this.#runs = runs;
    this.#runsCount++;
    this.#abort.abort();
    this.#pace.askNow();
  }

  /** The runs have grown. */
  refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#pace.ask();
  }

  stop(): void {
    this.#wants.clear();
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    const tags = this.#findStale().slice(0, MOST_TAGS);
    if (tags.length === 0) return;
    const [ask, revision] = [this.#ask, this.#revision];
    this.#abort = new AbortController();
    try {
      const rows = await this.#fetch(tags, this.#abort.signal);
      for (const tag of tags)
        this.#known.set(tag, { rows: rows.filter((row) => row.tag === tag), ask });
    } catch (error) {
      // The curves themselves say what is wrong; what was known before is still true.
      if (isAbort(error)) return;
      for (const tag of tags) this.#known.set(tag, { rows: this.find(tag), ask });
    }
    // What is stale because of new steps waits for its turn.
    if (revision === this.#revision && this.#findStale().length > 0) this.#pace.askNow();
  }

  async #fetch(tags: readonly string[], signal: AbortSignal): Promise<readonly HistoryRow[]> {
    const { api, isStatic } = this.#context;
    const answers = isStatic
      ? tags.map((tag) => api.get<HistoryAnswer>(`history/${encodeURIComponent(tag)}`, signal))
      : [api.post<HistoryAnswer>('history', { tags, runs: this.#runs }, signal)];
    return (await Promise.all(answers)).flatMap(({ series }) => series);
  }

  get #ask(): string {
    return `${this.#runsCount} ${this.#revision}`;
  }

  #findStale(): string[] {
    return unique(this.#wants.all).filter((tag) => this.#known.get(tag)?.ask !== this.#ask);
  }
}
