import { untrack } from 'svelte';

import type { Query } from '../../api/create-query.svelte';
import { toProblem } from '../../api/errors';
import type { QueryCache } from '../../api/query-cache';
import type { RequestOf } from '../../api/query-definition';
import type {
  CounterfactualRequest,
  CounterfactualsResponse,
  JobResult,
  ModelJobStatus,
  Problem,
} from '../../api/schemas';
import * as m from '../../catalog/what_if';
import { translate } from '../../i18n/messages';
import { formatInteger } from '../../lib/format';
import type { Context } from '../../plugin/context';
import { counterfactualsQuery, isRunning, jobQuery } from './query';

type JobRoute =
  | 'POST what_if/predict'
  | 'POST what_if/dependence'
  | 'POST what_if/importance'
  | 'POST what_if/shapley';

/** A computation of the server with progress. The last result stays until the next one is there. */
export class WhatIfJob {
  result = $state.raw<JobResult | null>(null);
  readonly #queries: QueryCache;
  readonly #query: Query<JobResult>;
  #started = $state.raw<string | null>(null);
  #requestError = $state.raw<Problem | null>(null);

  /** Call it where effects can be created. */
  constructor(context: Context, ondone: (result: JobResult) => void = () => undefined) {
    this.#queries = context.queries;
    this.#query = context.query(
      jobQuery,
      () => (this.#started === null ? null : { job: this.#started }),
      { keepPrevious: false },
    );
    $effect(() => {
      const { data } = this.#query;
      if (data?.status.state !== 'done' || data.status.job !== this.#started) return;
      this.#started = null;
      this.result = data;
      ondone(data);
    });
  }

  get status(): ModelJobStatus | null {
    return this.#query.data?.status ?? null;
  }

  readonly isRunning = $derived.by(
    () => this.#started !== null && (this.status === null || isRunning(this.status)),
  );

  readonly error = $derived.by<Problem | null>(() => {
    const problem = this.status?.problem;
    if (problem) return { message: capitalize(translate(problem)), hint: '' };
    return this.#requestError ?? this.#query.error?.problem ?? null;
  });

  async run<Route extends JobRoute>(route: Route, request: RequestOf<Route>): Promise<void> {
    this.#requestError = null;
    this.#started = null;
    try {
      const status = (await this.#queries.mutate(route, request)) as ModelJobStatus;
      // The same job may have failed or been cancelled before.
      this.#queries.invalidate(jobQuery);
      this.#started = status.job;
    } catch (error) {
      this.#requestError = toProblem(error);
    }
  }

  /** Forget the result. */
  clear(): void {
    this.#started = null;
    this.result = null;
    this.#requestError = null;
  }

  async cancel(): Promise<void> {
    const job = this.#started;
    if (job === null) return;
    await this.#queries.mutate('DELETE what_if/job', { job }).catch(toProblem);
    this.#query.retry();
  }
}

/** Return the properties of a progress bar for a running job. */
export function describeProgress(status: ModelJobStatus | null): {
  readonly label: string;
  readonly value: number | null;
  readonly details: string;
} {
  if (!status || status.state === 'waiting') {
    return { label: m.jobWaiting, value: null, details: m.jobWaiting };
  }
  const { stage, done, total } = status;
  const label = capitalize(translate(stage)) || m.jobWaiting;
  if (total === 0) return { label, value: null, details: label };
  const details = m.jobProgress({
    stage: label,
    done: formatInteger(done),
    total: formatInteger(total),
  });
  return { label, value: done / total, details };
}

/** Sentences in the catalog of the server begin in lower case. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

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
