import { isAbort } from '../../../api/client';
import type { TagRow } from '../../../api/types';
import { Pace } from '../../../base/pace';
import type { Api } from '../../../plugin/context';
import { scalarRows } from './rows';

const PAUSE_MS = 1000;

/** Which tags the runs have that are shown; there is no card for a tag that none of them has. */
export class ShownTags {
  /** null: not known, or all of them. */
  #tags = $state.raw<readonly string[] | null>(null);
  readonly #api: Api;
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #runs: readonly string[] | null = null;
  #abort = new AbortController();

  constructor(api: Api) {
    this.#api = api;
  }

  /** null stands for all runs. */
  show(runs: readonly string[] | null): void {
    this.#runs = runs;
    this.#abort.abort();
    if (runs === null) this.#tags = null;
    else this.#pace.askNow();
  }

  refresh(): void {
    if (this.#runs !== null) this.#pace.ask();
  }

  filter(rows: readonly TagRow[]): readonly TagRow[] {
    return scalarRows(rows, this.#tags);
  }

  async #load(): Promise<void> {
    const runs = this.#runs;
    this.#abort = new AbortController();
    if (runs === null) return;
    try {
      const ask = { runs };
      const answer = await this.#api.post<{ tags: string[] }>('tags', ask, this.#abort.signal);
      if (runs === this.#runs) this.#tags = answer.tags;
    } catch (error) {
      // Cards without lines are better than none.
      if (!isAbort(error)) this.#tags = null;
    }
  }
}
