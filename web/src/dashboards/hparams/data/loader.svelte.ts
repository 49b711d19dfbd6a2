import { isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import { Pace } from '../../../base/pace';
import type { Context } from '../../../plugin/context';
import type { Settings } from '../state/settings';
import type { SessionsAnswer } from './answers';
import { joinAnswers } from './join';

const PAUSE_MS = 1000;

/** All sessions, and what came of them since. */
export class Loader {
  answer = $state.raw<SessionsAnswer | null>(null);
  problem = $state.raw<Problem | null>(null);
  readonly #context: Context;
  readonly #settings: Settings;
  readonly #pace = new Pace(() => this.#load(), PAUSE_MS);
  #abort = new AbortController();
  /** The question that the answer is to. */
  #asked = '';

  constructor(context: Context, settings: Settings) {
    this.#context = context;
    this.#settings = settings;
  }

  /** Asks again when the question or the log has changed; for an effect. */
  follow(): void {
    this.#context.live.revisionOf(null);
    const isNew = this.query !== this.#asked;
    if (isNew) this.#pace.askNow();
    else this.#pace.ask();
  }

  retry(): void {
    this.#pace.askNow();
  }

  stop(): void {
    this.#abort.abort();
  }

  /** How values and repeats are summed up, as the server is asked. */
  get query(): string {
    const { how, lastN, step, repeats } = this.#settings;
    const words = [`how=${how.value}`];
    if (repeats.value !== 'each') words.push(`over=${repeats.value}`);
    if (how.value === 'mean') words.push(`n=${lastN.value}`);
    if (how.value === 'step') words.push(`step=${step.value}`);
    return words.join('&');
  }

  async #load(): Promise<void> {
    const query = this.query;
    const known = query === this.#asked ? this.answer : null;
    const since = known && !this.#context.isStatic ? `&since=${known.revision}` : '';
    this.#abort = new AbortController();
    try {
      const { signal } = this.#abort;
      const answer = await this.#context.api.get<SessionsAnswer>(
        `sessions?${query}${since}`,
        signal,
      );
      this.#asked = query;
      this.answer = known && answer.base !== null ? joinAnswers(known, answer) : answer;
      this.problem = null;
    } catch (error) {
      if (!isAbort(error)) this.problem = problemOf(error);
    }
  }
}
