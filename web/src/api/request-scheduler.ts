/**
 * Runs `work` when asked, but never twice at once, nor again before a pause that is longer the longer
 * the work takes: a slow log is asked for less often. What is asked for meanwhile is done once after.
 */
export class RequestScheduler {
  #running = false;
  #again: 'no' | 'later' | 'at once' = 'no';
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
    if (!this.#running) void this.#run();
  }

  /** With the next turn that the pause allows. */
  schedule(): void {
    if (!this.#running) this.#schedule();
    else if (this.#again === 'no') this.#again = 'later';
  }

  /** Without a pause, because somebody waits for it. */
  scheduleNow(): void {
    this.#restUntil = 0;
    if (this.#running) this.#again = 'at once';
    else {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#schedule();
    }
  }

  #schedule(): void {
    const delay = Math.max(0, this.#restUntil - performance.now());
    this.#timer ??= setTimeout(() => void this.#run(), delay);
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#running = true;
    const began = performance.now();
    await this.#work();
    const ended = performance.now();
    const again = this.#again;
    this.#running = false;
    this.#again = 'no';
    this.#restUntil =
      again === 'at once' ? 0 : ended + Math.max(this.#shortestPauseMs, 5 * (ended - began));
    if (again !== 'no') this.#schedule();
  }
}

/** Counts who wants which things, and knows which of them are still to be fetched. */
export class SubscriptionSet {
  readonly #wanted = new Map<string, number>();
  readonly #fresh = new Set<string>();

  /** Wants a thing until the function that it returns is called. */
  subscribe(thing: string): () => void {
    this.#wanted.set(thing, (this.#wanted.get(thing) ?? 0) + 1);
    return () => {
      const left = (this.#wanted.get(thing) ?? 1) - 1;
      if (left > 0) this.#wanted.set(thing, left);
      else this.#wanted.delete(thing);
    };
  }

  listStale(): string[] {
    return [...this.#wanted.keys()].filter((thing) => !this.#fresh.has(thing));
  }

  markFresh(things: Iterable<string>): void {
    for (const thing of things) this.#fresh.add(thing);
  }

  markStale(): void {
    this.#fresh.clear();
  }
}
