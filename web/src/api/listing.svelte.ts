import { isAbort, problemOf } from './client';
import type { Problem } from './types';

/** All there is of something, each thing with an id, once the server has said it. */
export class Listing<Row extends { readonly id: string }> {
  rows = $state.raw<readonly Row[]>([]);
  ready = $state(false);
  problem = $state.raw<Problem | null>(null);
  readonly #ask: (signal?: AbortSignal) => Promise<readonly Row[]>;

  constructor(ask: (signal?: AbortSignal) => Promise<readonly Row[]>) {
    this.#ask = ask;
  }

  find(id: string): Row | undefined {
    return id === '' ? undefined : this.rows.find((row) => row.id === id);
  }

  async load(signal?: AbortSignal): Promise<void> {
    try {
      this.rows = await this.#ask(signal);
      [this.ready, this.problem] = [true, null];
    } catch (error) {
      if (!isAbort(error)) this.problem = problemOf(error);
    }
  }
}
