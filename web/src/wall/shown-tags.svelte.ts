import { isAbort } from '../api/client';
import type { TagRow } from '../api/types';
import { Pace } from '../base/pace';
import type { Tags } from '../plugin/context';
import { pickRows } from './sections';

const PAUSE_MS = 1000;

/** Which tags the runs have that are shown; there is no card for a tag that none of them has. */
export class ShownTags {
  /** null: not known, or all of them. */
  #names = $state.raw<readonly string[] | null>(null);
  readonly #tags: Tags;
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #runs: readonly string[] | null = null;
  #revision = -1;
  #abort = new AbortController();

  constructor(tags: Tags) {
    this.#tags = tags;
  }

  /** null stands for all runs. */
  show(runs: readonly string[] | null): void {
    this.#runs = runs;
    this.#abort.abort();
    if (runs === null) this.#names = null;
    else this.#pace.askNow();
  }

  /** The runs have grown. */
  refresh(revision: number): void {
    if (revision === this.#revision) return;
    this.#revision = revision;
    if (this.#runs !== null) this.#pace.ask();
  }

  stop(): void {
    this.#runs = null;
    this.#abort.abort();
  }

  filter(rows: readonly TagRow[]): readonly TagRow[] {
    return this.#names === null ? rows : pickRows(rows, this.#names);
  }

  async #load(): Promise<void> {
    const runs = this.#runs;
    this.#abort = new AbortController();
    if (runs === null) return;
    try {
      const names = await this.#tags.namesIn(runs, this.#abort.signal);
      if (runs === this.#runs) this.#names = names;
    } catch (error) {
      // Cards without anything in them are better than none.
      if (!isAbort(error)) this.#names = null;
    }
  }
}
