import { untrack } from 'svelte';

import { Pace } from '../../base/pace';
import type { Context } from '../../plugin/context';
import type { CaptureRow } from './capture-flags';

const PAUSE_MS = 3000;

/** The captures of a profiler, to be marked on the charts of their runs. */
export class Captures {
  rows = $state.raw<readonly CaptureRow[]>([]);
  readonly #context: Context;
  readonly #loading = new Pace(() => this.#load(), PAUSE_MS);

  constructor(context: Context) {
    this.#context = context;
  }

  /** Asks again when the log has changed; to be called where effects live. */
  follow(): void {
    $effect(() => {
      this.#context.live.revisionOf(null);
      if (this.#context.shows('profile')) untrack(() => this.#loading.ask());
    });
  }

  async #load(): Promise<void> {
    const api = this.#context.apiOf('profile');
    try {
      const { captures } = await api.get<{ captures: readonly CaptureRow[] }>('captures');
      this.rows = captures;
    } catch {
      // Charts are worth looking at without; the dashboard of profiles itself says what is wrong.
    }
  }
}
