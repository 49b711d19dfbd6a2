import { isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import { Pace } from '../../../base/pace';
import type { ImportanceAnswer } from '../data/answers';
import type { Study } from '../study.svelte';

const PAUSE_MS = 1500;

/** How much each hyperparameter matters, among the sessions that pass. */
export class ImportanceLoader {
  answer = $state.raw<ImportanceAnswer | null>(null);
  problem = $state.raw<Problem | null>(null);
  loading = $state(false);
  readonly #study: Study;
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #asked = '';
  #abort = new AbortController();

  constructor(study: Study) {
    this.#study = study;
  }

  /** Asks again when the metric or the sessions are others; for an effect. */
  follow(): void {
    const { metric, settled, settings } = this.#study;
    const asked = `${metric?.key} ${settings.rules.value.size} ${settled.length} ${settings.how.value}`;
    if (asked !== this.#asked) this.#pace.askNow();
    else this.#pace.ask();
    this.#asked = asked;
  }

  retry(): void {
    this.#pace.askNow();
  }

  stop(): void {
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.loading = true;
    try {
      this.answer = await this.#ask();
      this.problem = null;
    } catch (error) {
      if (!isAbort(error)) this.problem = problemOf(error);
    }
    this.loading = false;
  }

  #ask(): Promise<ImportanceAnswer> {
    const { context, metric, settings, settled, sessions, loader } = this.#study;
    const key = metric?.key.replace('metric:', '') ?? '';
    const { signal } = this.#abort;
    const { how, lastN, step, repeats } = settings;
    if (context.isStatic)
      return context.api.get(`importance?metric=${encodeURIComponent(key)}&how=last`, signal);
    const names = loader.answer?.rows.names ?? [];
    const isAll = settled.length === sessions.count;
    const body = {
      metric: key,
      how: how.value,
      n: lastN.value,
      step: step.value,
      over: repeats.value === 'each' ? null : repeats.value,
      sessions: isAll ? null : Array.from(settled, (row) => names[row] ?? ''),
    };
    return context.api.post('importance', body, signal);
  }
}
