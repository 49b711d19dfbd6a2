import { untrack } from 'svelte';

import { RequestScheduler } from '../api/request-scheduler';
import type { Annotation } from '../charts/types';
import type { Context, XAxis } from '../plugin/context';

/** When a profiler looked at a run, as the dashboard of profiles tells it. */
export interface CaptureRow {
  readonly id: string;
  readonly run: string;
  readonly wall_s: number;
  /** The last step that the run had logged before it. */
  readonly step: number | null;
}

/** More poles would hide the lines. */
const MAX_CAPTURE_FLAGS = 12;

/** A pole for each capture of some runs, along an axis that it has a place on. */
export function captureFlags(
  rows: readonly CaptureRow[],
  runs: readonly string[],
  axis: XAxis,
): readonly Annotation[] {
  const flags = rows
    .filter(({ run }) => runs.includes(run))
    .flatMap(({ id, run, wall_s, step }) => {
      const x = axis === 'wall' ? wall_s : axis === 'step' ? step : null;
      return x === null ? [] : [{ id: `capture ${id}`, x, text: `profile of ${run}` }];
    });
  return flags.length > MAX_CAPTURE_FLAGS ? [] : flags;
}

const CAPTURES_REFRESH_MS = 3000;

/** The captures of a profiler, to be marked on the charts of their runs. */
export class ProfileCaptures {
  rows = $state.raw<readonly CaptureRow[]>([]);
  readonly #context: Context;
  readonly #loading = new RequestScheduler(() => this.#load(), CAPTURES_REFRESH_MS);

  constructor(context: Context) {
    this.#context = context;
  }

  /** Asks again when the log has changed; to be called where effects live. */
  startEffects(): void {
    $effect(() => {
      this.#context.live.getRevision(null);
      if (this.#context.isDashboardActive('profile')) untrack(() => this.#loading.schedule());
    });
  }

  async #load(): Promise<void> {
    const api = this.#context.getApi('profile');
    try {
      const { captures } = await api.get<{ captures: readonly CaptureRow[] }>('captures');
      this.rows = captures;
    } catch {
      // Charts are worth looking at without; the dashboard of profiles itself says what is wrong.
    }
  }
}
