import type { RevisionScope } from './query-definition';

/** Counts changes of the log, so that data read before a change can be recognized as stale. */
export class Revisions {
  #count = 0;
  /** Values of the counter at the last change of anything, of everything, of runs and events. */
  #log = 0;
  #reset = 0;
  readonly #runs = new Map<string, number>();
  readonly #events = new Map<string, number>();
  /** Requests of many charts name the same hundreds of runs. */
  readonly #known = new WeakMap<
    readonly string[],
    { readonly at: number; readonly value: number }
  >();

  markRuns(names: Iterable<string>): void {
    this.#log = ++this.#count;
    for (const name of names) this.#runs.set(name, this.#count);
  }

  /** The runs are not known: all of them may have changed. */
  markLog(): void {
    this.#reset = this.#log = ++this.#count;
  }

  markEvent(name: string): void {
    this.#events.set(name, ++this.#count);
  }

  get(scope: RevisionScope): number {
    if (scope === 'immutable') return 0;
    if (scope === 'log') return this.#log;
    if ('event' in scope) return Math.max(this.#reset, this.#events.get(scope.event) ?? 0);
    return scope.runs === null ? this.#log : this.#getLatest(scope.runs);
  }

  #getLatest(runs: readonly string[]): number {
    const known = this.#known.get(runs);
    if (known?.at === this.#log) return known.value;
    const value = runs.reduce((max, run) => Math.max(max, this.#runs.get(run) ?? 0), this.#reset);
    this.#known.set(runs, { at: this.#log, value });
    return value;
  }
}
