import { isAbort, problemOf } from './client';
import type { Problem } from './types';

/** One question that changes: of its answers only that to the last one counts. */
export class Asking<Answer> {
  answer = $state.raw<Answer | null>(null);
  problem = $state.raw<Problem | null>(null);
  loading = $state(false);
  #asked = new AbortController();
  #question: ((signal: AbortSignal) => Promise<Answer>) | null = null;

  /** Null asks nothing. The answer before stays until the next one is there if it is `kept`. */
  ask(question: ((signal: AbortSignal) => Promise<Answer>) | null, kept = false): void {
    this.stop();
    this.#question = question;
    if (!kept || !question) this.answer = null;
    this.problem = null;
    this.loading = question !== null;
    if (question) void this.#run(question, this.#asked.signal);
  }

  /** Asks the last question once more. */
  again(): void {
    this.ask(this.#question, true);
  }

  stop(): void {
    this.#asked.abort();
    this.#asked = new AbortController();
  }

  async #run(
    question: (signal: AbortSignal) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const answer = await question(signal);
      if (signal.aborted) return;
      this.answer = answer;
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.problem = problemOf(error);
      this.answer = null;
    }
    this.loading = false;
  }
}
