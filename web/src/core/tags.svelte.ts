import { getTags, problemOf } from '../api/client';
import type { Problem, TagRow } from '../api/types';
import { Pace } from '../base/pace';
import { sortTags } from '../base/section';
import { board } from './board.svelte';

const PAUSE_MS = 1000;

/** The tags of all runs. */
class AllTags {
  /** In natural order. */
  rows = $state.raw<readonly TagRow[]>([]);
  problem = $state.raw<Problem | null>(null);
  /** False until the first answer. */
  ready = $state(false);

  readonly #loading = new Pace(() => this.#load(), PAUSE_MS);

  refresh(): void {
    this.#loading.ask();
  }

  retry(): void {
    this.#loading.askNow();
  }

  async #load(): Promise<void> {
    // What was asked for before the picture was told to stand still must not move it now.
    if (board.paused && this.ready) return;
    try {
      this.rows = sortTags((await getTags()).tags);
      this.problem = null;
    } catch (error) {
      // What was known is still worth more than an error, and the live mark tells of a lost server.
      if (this.rows.length === 0) this.problem = problemOf(error);
    }
    this.ready = true;
  }
}

export const tags = new AllTags();
