import type { Query } from '../../api/create-query.svelte';
import { toProblem } from '../../api/errors';
import type { QueryCache } from '../../api/query-cache';
import type { RequestOf } from '../../api/query-definition';
import type { JobResult, ModelJobStatus, Problem } from '../../api/schemas';
import * as m from '../../catalog/what_if';
import { translate } from '../../i18n/server-messages';
import { formatInteger } from '../../lib/format';
import type { Context } from '../../plugin/context';
import { isRunning, jobQuery } from './query';

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
