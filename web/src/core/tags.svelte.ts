import { findTagNames, getTags, problemOf } from '../api/client';
import type { Problem, TagRow } from '../api/types';
import { Pace } from '../base/pace';
import { sortTags } from '../base/section';
import type { Tags } from '../plugin/context';
import { board } from './board.svelte';

const PAUSE_MS = 1000;

/** The tags of all runs. */
class AllTags implements Tags {
  /** In natural order. */
  rows = $state.raw<readonly TagRow[]>([]);
  problem = $state.raw<Problem | null>(null);
  /** False until the first answer. */
  ready = $state(false);

  readonly #loading = new Pace(() => this.#load(), PAUSE_MS);
  #cursor = '';

  /** Asks at once, beside what else the page begins with: no chart can be asked for before. */
  start(): void {
    this.#loading.begin();
  }

  refresh(): void {
    this.#loading.ask();
  }

  retry(): void {
    this.#loading.askNow();
  }

  async namesIn(runs: readonly string[], signal?: AbortSignal): Promise<readonly string[]> {
    return (await findTagNames(runs, signal)).tags;
  }

  async #load(): Promise<void> {
    // What was asked for before the picture was told to stand still must not move it now.
    if (this.ready && (board.paused || this.#isNewest())) return;
    try {
      const { tags, cursor } = await getTags();
      this.rows = sortTags(tags);
      this.#cursor = cursor;
      this.problem = null;
    } catch (error) {
      // What was known is still worth more than an error, and the live mark tells of a lost server.
      if (this.rows.length === 0) this.problem = problemOf(error);
    }
    this.ready = true;
  }

  /** While a log is read for the first time its tags grow, though it is at no other place. */
  #isNewest(): boolean {
    return !board.loading && board.cursor === this.#cursor;
  }
}

export const tags = new AllTags();
