import { isAbortError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import { RequestScheduler } from '../../api/request-scheduler';
import type { ImportanceResponse } from './schemas';
import type { HParamsDashboard } from './hparams-dashboard.svelte';

const MIN_REFRESH_MS = 1500;

/** How much each hyperparameter matters, among the sessions that pass. */
export class ImportanceQuery {
  data = $state.raw<ImportanceResponse | null>(null);
  error = $state.raw<Problem | null>(null);
  isLoading = $state(false);
  readonly #dashboard: HParamsDashboard;
  readonly #scheduler = new RequestScheduler(() => this.#load(), MIN_REFRESH_MS);
  #requestKey = '';
  #abort = new AbortController();

  constructor(study: HParamsDashboard) {
    this.#dashboard = study;
  }

  /** Asks again when the metric or the sessions are others; for an effect. */
  refresh(): void {
    const { metric, committedRows, settings } = this.#dashboard;
    const asked = `${metric?.key} ${settings.filters.value.size} ${committedRows.length} ${settings.reduction.value}`;
    if (asked !== this.#requestKey) this.#scheduler.scheduleNow();
    else this.#scheduler.schedule();
    this.#requestKey = asked;
  }

  retry(): void {
    this.#scheduler.scheduleNow();
  }

  dispose(): void {
    this.#abort.abort();
  }

  async #load(): Promise<void> {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.isLoading = true;
    try {
      this.data = await this.#request();
      this.error = null;
    } catch (error) {
      if (!isAbortError(error)) this.error = toProblem(error);
    }
    this.isLoading = false;
  }

  #request(): Promise<ImportanceResponse> {
    const { context, metric, settings, committedRows, trials, trialsQuery } = this.#dashboard;
    const key = metric?.key.replace('metric:', '') ?? '';
    const { signal } = this.#abort;
    const { reduction, lastCount, step, repeats } = settings;
    if (context.isStatic)
      return context.api.get(`importance?metric=${encodeURIComponent(key)}&how=last`, signal);
    const names = trialsQuery.data?.rows.names ?? [];
    const isAll = committedRows.length === trials.count;
    const body = {
      metric: key,
      how: reduction.value,
      n: lastCount.value,
      step: step.value,
      over: repeats.value === 'each' ? null : repeats.value,
      sessions: isAll ? null : Array.from(committedRows, (row) => names[row] ?? ''),
    };
    return context.api.post('importance', body, signal);
  }
}
