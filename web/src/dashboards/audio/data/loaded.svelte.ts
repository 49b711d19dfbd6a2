import { untrack } from 'svelte';

import { isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';

/** Something to ask for. Two of the same name have the same answer. */
export interface Wish<Value> {
  readonly name: string;
  ask(signal: AbortSignal): Promise<Value>;
}

/** While somebody zooms, only what is seen in the end is asked for. */
const SETTLING_MS = 40;

/** The answer to the last wish. The one from before stays until the next has come. */
export class Loaded<Value> {
  value = $state.raw<Value | null>(null);
  problem = $state.raw<Problem | null>(null);
  #wish: Wish<Value> | null = null;
  #abort = new AbortController();

  load(wish: Wish<Value> | null): void {
    if (wish?.name === this.#wish?.name) return;
    this.#wish = wish;
    this.#abort.abort();
    if (wish) void this.#load(wish);
    else this.value = this.problem = null;
  }

  retry(): void {
    this.problem = null;
    if (this.#wish) void this.#load(this.#wish);
  }

  stop(): void {
    this.#abort.abort();
  }

  async #load(wish: Wish<Value>): Promise<void> {
    const { signal } = (this.#abort = new AbortController());
    if (untrack(() => this.value) !== null) await sleep(SETTLING_MS);
    if (signal.aborted) return;
    try {
      const value = await wish.ask(signal);
      if (signal.aborted) return;
      this.value = value;
      this.problem = null;
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) this.problem = problemOf(error);
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, ms));
}
