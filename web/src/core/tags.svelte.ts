import { getTags, isAbort, problemOf } from '../api/client';
import type { Problem, TagRow } from '../api/types';
import { sortTags } from '../base/section';
import { Pace } from '../base/pace';

const PAUSE_MS = 1000;

/** The tags of the run that is looked at, or of all runs. */
class Tags {
  /** In natural order. */
  rows = $state.raw<readonly TagRow[]>([]);
  problem = $state.raw<Problem | null>(null);
  /** False until the first answer for this run. */
  ready = $state(false);

  #run: string | null = null;
  #abort = new AbortController();
  readonly #loading = new Pace(() => this.#load(), PAUSE_MS);

  show(run: string | null): void {
    this.#abort.abort();
    this.#run = run;
    this.ready = false;
    this.problem = null;
    this.#loading.askNow();
  }

  refresh(): void {
    this.#loading.ask();
  }

  retry(): void {
    this.#loading.askNow();
  }

  async #load(): Promise<void> {
    this.#abort = new AbortController();
    try {
      this.rows = sortTags((await getTags(this.#run, this.#abort.signal)).tags);
      this.problem = null;
      this.ready = true;
    } catch (error) {
      if (isAbort(error)) return;
      this.rows = [];
      this.problem = problemOf(error);
      this.ready = true;
    }
  }
}

export const tags = new Tags();
