/**
 * Runs an async refresh at most once at a time. Requests made while it runs are coalesced into one
 * follow-up. The pause between runs grows with their duration, so that a slow log is read less often.
 */
export class RequestScheduler {
  #running = false;
  #followUp: 'none' | 'later' | 'now' = 'none';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #restUntil = 0;
  readonly #work: () => Promise<void>;
  readonly #minPauseMs: number;

  constructor(work: () => Promise<void>, minPauseMs: number) {
    this.#work = work;
    this.#minPauseMs = minPauseMs;
  }

  /** Run synchronously. Within an effect, state that `work` reads becomes its dependency. */
  startNow(): void {
    if (!this.#running) this.#run().catch((error: unknown) => reportError(error));
  }

  /** Run after the pause. */
  schedule(): void {
    if (!this.#running) this.#schedule();
    else if (this.#followUp === 'none') this.#followUp = 'later';
  }

  /** Run without a pause, because a user waits for the result. */
  scheduleNow(): void {
    this.#restUntil = 0;
    if (this.#running) this.#followUp = 'now';
    else {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#schedule();
    }
  }

  #schedule(): void {
    const delay = Math.max(0, this.#restUntil - performance.now());
    this.#timer ??= setTimeout(
      () => this.#run().catch((error: unknown) => reportError(error)),
      delay,
    );
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#running = true;
    const startedAt = performance.now();
    try {
      await this.#work();
    } finally {
      // Also after an exception, which must not stop further refreshes.
      this.#finish(performance.now() - startedAt);
    }
  }

  #finish(durationMs: number): void {
    const followUp = this.#followUp;
    this.#running = false;
    this.#followUp = 'none';
    this.#restUntil =
      followUp === 'now' ? 0 : performance.now() + Math.max(this.#minPauseMs, 5 * durationMs);
    if (followUp !== 'none') this.#schedule();
  }
}
