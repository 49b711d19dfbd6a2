import { QueryError } from './errors';
import type { AnyDefinition, Priority, RevisionScope } from './query-definition';

/** Revision of an entry that must be fetched whatever the revision of the log is. */
export const NEVER = -1;
export const PRIORITIES: readonly Priority[] = ['high', 'normal', 'low'];
const DEFAULT_MAX_COST = 200;

/** A user of an entry, which is notified of changes. */
export interface Watcher {
  readonly priority: Priority;
  onChange(entry: Entry): void;
}

/** One request to the transport. */
export interface Flight {
  readonly group: Group;
  readonly entries: readonly Entry[];
  readonly controller: AbortController;
  readonly isProbe: boolean;
}

/** The result of one request, or of one part of a batched request. */
export class Entry {
  data: unknown;
  hasData = false;
  /** Why the last attempt failed: a `QueryError`, or a bug in the page. */
  failure: { readonly error: unknown } | null = null;
  flight: Flight | null = null;
  /** The server refused a batch with this entry, so it is sent by itself. */
  isAlone = false;
  /** Revision that the last completed attempt saw; `NEVER` if the entry must be fetched. */
  revision = NEVER;
  /** Revision when the last attempt was sent. */
  sentRevision = NEVER;
  /** Failed attempts in a row that are to be repeated. */
  failures = 0;
  /** Times in milliseconds: last attempt, earliest next attempt, next poll. */
  attemptedAt = NEVER;
  notBefore = 0;
  pollAt = Infinity;
  cost = 0;
  readonly watchers = new Set<Watcher>();

  /** Entries with the same `sharedId` can be in one batch. */
  constructor(
    readonly group: Group,
    readonly request: unknown,
    readonly sharedId: number,
  ) {}

  get priority(): Priority {
    const given = new Set([...this.watchers].map(({ priority }) => priority));
    return PRIORITIES.find((priority) => given.has(priority)) ?? 'normal';
  }

  get error(): QueryError | null {
    return this.failure?.error instanceof QueryError ? this.failure.error : null;
  }

  /** The failure if it is a programming error. */
  get bug(): { readonly error: unknown } | null {
    return this.error ? null : this.failure;
  }

  notify(): void {
    for (const watcher of [...this.watchers]) watcher.onChange(this);
  }

  /** Forget the last attempt, so that there is another one at once. */
  reset(): void {
    [this.failure, this.revision, this.notBefore] = [null, NEVER, 0];
  }

  /** Store a result as the data of the revision that was current when it was requested. */
  store(data: unknown, revision = this.sentRevision): void {
    const { cost, poll } = this.group.definition;
    const delay = poll?.(data, this.data) ?? Infinity;
    const size = cost?.(data) ?? 1;
    this.group.cost += size - this.cost;
    [this.data, this.hasData, this.cost] = [data, true, size];
    this.#complete(null, revision, delay);
  }

  fail(error: unknown): void {
    this.#complete({ error }, this.sentRevision, Infinity);
  }

  #complete(failure: Entry['failure'], revision: number, pollMs: number): void {
    [this.failure, this.revision, this.pollAt] = [failure, revision, performance.now() + pollMs];
    [this.failures, this.notBefore] = [0, 0];
  }
}

/** All entries of one definition. */
export class Group {
  /** By key; least recently used first. */
  readonly entries = new Map<string, Entry>();
  cost = 0;
  inFlight = 0;
  /** Refreshes wait until this time, except for entries that have not had theirs since `waveStart`. */
  restUntil = 0;
  waveStart = 0;
  isFirst = true;

  constructor(readonly definition: AnyDefinition) {}

  /**
   * Delete unused entries until the group is within its limit: those that exceed it by
   * themselves, then the least recently used.
   */
  evict(): void {
    const { maxCost = DEFAULT_MAX_COST } = this.definition;
    if (this.cost <= maxCost) return;
    const unused = [...this.entries].filter(([, entry]) => !entry.watchers.size && !entry.flight);
    unused.sort(([, one], [, other]) => +(other.cost > maxCost) - +(one.cost > maxCost));
    for (const [key, { cost }] of unused) {
      if (this.cost <= maxCost) return;
      this.entries.delete(key);
      this.cost -= cost;
    }
  }
}

/** Counts changes of the log, so that data read before a change can be recognized as stale. */
export class Revisions {
  #count = 0;
  /** Values of the counter at the last change of any run, of all runs, of everything, of runs and events. */
  #log = 0;
  #allRuns = 0;
  #reset = 0;
  readonly #runs = new Map<string, number>();
  readonly #events = new Map<string, number>();
  /** Requests of many charts name the same hundreds of runs. */
  readonly #known = new WeakMap<readonly string[], { at: number; value: number }>();

  constructor(readonly onChange: () => void) {}

  /** Mark runs as changed; null if they are not known. */
  markRuns(names: Iterable<string> | null): void {
    this.#log = ++this.#count;
    if (names === null) this.#allRuns = this.#count;
    else for (const name of names) this.#runs.set(name, this.#count);
    this.onChange();
  }

  /** Everything may have changed, also what events report. */
  markLog(): void {
    this.#reset = this.#allRuns = this.#log = ++this.#count;
    this.onChange();
  }

  markEvent(name: string): void {
    this.#events.set(name, ++this.#count);
    this.onChange();
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
    const value = runs.reduce((max, run) => Math.max(max, this.#runs.get(run) ?? 0), this.#allRuns);
    this.#known.set(runs, { at: this.#log, value });
    return value;
  }
}
