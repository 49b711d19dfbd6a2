import { untrack } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import type { QueryCache } from '../../api/query-cache';
import type {
  CounterfactualRequest,
  CounterfactualsResponse,
  JobResult,
  ModelJobStatus,
  Problem,
} from '../../api/schemas';
import { translate } from '../../i18n/server-messages';
import type { Context } from '../../plugin/context';
import { counterfactualsQuery, isRunning, jobQuery } from './query';
import { capitalize } from './what-if-job.svelte';

/**
 * A search for counterfactuals. The server answers fast ones at once, and makes a job of others,
 * which is followed here and cancelled when something else is searched.
 */
export class CounterfactualSearch {
  readonly #queries: QueryCache;
  readonly #query: Query<CounterfactualsResponse>;
  readonly #job: Query<JobResult>;

  /** `getRequest` is reactive; null searches nothing. Call it where effects can be created. */
  constructor(context: Context, getRequest: () => CounterfactualRequest | null) {
    this.#queries = context.queries;
    this.#query = context.query(counterfactualsQuery, getRequest, {
      keepPrevious: (previous, next) => previous.row === next.row,
    });
    this.#job = context.query(jobQuery, () => (this.#key === null ? null : { job: this.#key }), {
      keepPrevious: false,
    });
    $effect(() => {
      const request = getRequest();
      const { data } = this.#job;
      if (request && data?.counterfactuals && data.status.job === this.#key)
        this.#queries.set(counterfactualsQuery, request, data.counterfactuals);
    });
    $effect(() => {
      // A job that was cancelled has the same key when it is started again.
      if (this.#query.data?.status) untrack(() => this.#queries.invalidate(jobQuery));
    });
    $effect(() => {
      const key = this.#key;
      if (key === null) return;
      return () => this.#leave(key);
    });
  }

  /** The job of the current request; null if the server has answered at once. */
  readonly #key: string | null = $derived.by(() =>
    this.#query.isStale ? null : (this.#query.data?.status?.job ?? null),
  );

  readonly status: ModelJobStatus | null = $derived.by(() =>
    this.#key === null ? null : (this.#job.data?.status ?? this.#query.data?.status ?? null),
  );

  /** Undefined until there is a result. That of another distance stays until the next. */
  readonly data: CounterfactualsResponse | undefined = $derived.by(() =>
    this.#query.data?.status ? undefined : this.#query.data,
  );

  readonly isLoading: boolean = $derived.by(
    () => this.#query.isLoading || (this.status !== null && isRunning(this.status)),
  );

  /** A job that shows progress runs. */
  readonly isLong: boolean = $derived.by(() => this.status !== null && isRunning(this.status));

  readonly isCancelled: boolean = $derived.by(() => this.status?.state === 'cancelled');

  readonly error: Problem | null = $derived.by(() => {
    const problem = this.status?.problem;
    if (problem) return { message: capitalize(translate(problem)), hint: '' };
    return this.#query.error?.problem ?? this.#job.error?.problem ?? null;
  });

  /** Search again after a failure, or after the search was cancelled. */
  retry(): void {
    this.#query.retry();
  }

  async cancel(): Promise<void> {
    if (this.#key === null) return;
    await this.#queries.mutate('DELETE what_if/job', { job: this.#key }).catch(() => undefined);
    this.#job.retry();
  }

  /** Something else is searched: end the job, and start it again when its request comes back. */
  #leave(key: string): void {
    const status = this.#queries.peek(jobQuery, { job: key })?.status;
    if (status && !isRunning(status)) return;
    void this.#queries.mutate('DELETE what_if/job', { job: key }).catch(() => undefined);
    this.#queries.invalidate(counterfactualsQuery);
  }
}
