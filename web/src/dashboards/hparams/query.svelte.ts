import { isAbortError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import { RequestScheduler } from '../../api/request-scheduler';
import type { Context } from '../../plugin/context';
import type { HParamsSettings } from './hparams-settings';
import type { SessionsResponse } from './schemas';
import { applyTrialsUpdate } from './model/trials-response';

const MIN_REFRESH_MS = 1000;

/** All sessions, and what came of them since. */
export class TrialsQuery {
  data = $state.raw<SessionsResponse | null>(null);
  error = $state.raw<Problem | null>(null);
  readonly #context: Context;
  readonly #settings: HParamsSettings;
  readonly #scheduler = new RequestScheduler(() => this.#load(), MIN_REFRESH_MS);
  #abort = new AbortController();
  /** The question that the answer is to. */
  #loadedQuery = '';

  constructor(context: Context, settings: HParamsSettings) {
    this.#context = context;
    this.#settings = settings;
  }

  /** Asks again when the question or the log has changed; for an effect. */
  refresh(): void {
    this.#context.live.getRevision(null);
    const isNew = this.queryString !== this.#loadedQuery;
    if (isNew) this.#scheduler.scheduleNow();
    else this.#scheduler.schedule();
  }

  retry(): void {
    this.#scheduler.scheduleNow();
  }

  dispose(): void {
    this.#abort.abort();
  }

  /** How values and repeats are summed up, as the server is asked. */
  get queryString(): string {
    const { reduction, lastCount, step, repeats } = this.#settings;
    const words = [`how=${reduction.value}`];
    if (repeats.value !== 'each') words.push(`over=${repeats.value}`);
    if (reduction.value === 'mean') words.push(`n=${lastCount.value}`);
    if (reduction.value === 'step') words.push(`step=${step.value}`);
    return words.join('&');
  }

  async #load(): Promise<void> {
    const query = this.queryString;
    const known = query === this.#loadedQuery ? this.data : null;
    const since = known && !this.#context.isStatic ? `&since=${known.revision}` : '';
    this.#abort = new AbortController();
    try {
      const { signal } = this.#abort;
      const answer = await this.#context.api.get<SessionsResponse>(
        `sessions?${query}${since}`,
        signal,
      );
      this.#loadedQuery = query;
      this.data = known && answer.base !== null ? applyTrialsUpdate(known, answer) : answer;
      this.error = null;
    } catch (error) {
      if (!isAbortError(error)) this.error = toProblem(error);
    }
  }
}
