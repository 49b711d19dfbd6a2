/**
 * Runs `work` when asked, but never twice at once, nor again before a pause that is longer the longer
 * the work takes: a slow log is asked for less often. What is asked for meanwhile is done once after.
 */
export class RequestScheduler {
  #running = false;
  #again: 'no' | 'later' | 'now' = 'no';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #restUntil = 0;
  readonly #work: () => Promise<void>;
  readonly #shortestPauseMs: number;

  constructor(work: () => Promise<void>, shortestPauseMs: number) {
    this.#work = work;
    this.#shortestPauseMs = shortestPauseMs;
  }

  /** Here and now; where effects run, what `work` reads would be taken for theirs. */
  startNow(): void {
    if (!this.#running) this.#run().catch((error: unknown) => reportError(error));
  }

  /** With the next turn that the pause allows. */
  schedule(): void {
    if (!this.#running) this.#schedule();
    else if (this.#again === 'no') this.#again = 'later';
  }

  /** Without a pause, because somebody waits for it. */
  scheduleNow(): void {
    this.#restUntil = 0;
    if (this.#running) this.#again = 'now';
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
    const began = performance.now();
    try {
      await this.#work();
    } finally {
      // Also after an exception: one bug must not stop all further refreshes.
      this.#finish(performance.now() - began);
    }
  }

  #finish(durationMs: number): void {
    const again = this.#again;
    this.#running = false;
    this.#again = 'no';
    this.#restUntil =
      again === 'now' ? 0 : performance.now() + Math.max(this.#shortestPauseMs, 5 * durationMs);
    if (again !== 'no') this.#schedule();
  }
}
