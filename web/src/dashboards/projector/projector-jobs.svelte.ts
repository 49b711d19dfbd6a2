import type { Query } from '../../api/create-query.svelte';
import { toProblem } from '../../api/errors';
import type { QueryCache } from '../../api/query-cache';
import type {
  ClusterRequest,
  ClustersResponse,
  JobStatus,
  Problem,
  ProjectionRequest,
  ProjectorLayoutResponse,
} from '../../api/schemas';
import * as m from '../../catalog/projector';
import { translate } from '../../i18n/messages';
import { formatInteger } from '../../lib/format';
import type { Context } from '../../plugin/context';
import type { ProjectorParams } from './projector-params';
import { clustersQuery, isRunning, layoutQuery, projectQuery } from './query';

/** `pending`: the request depends on another job that has not ended. */
type LayoutJobRequest = ProjectionRequest | 'pending' | null;

/** A layout that the server computes. Positions are shown while it runs. */
export class LayoutJob {
  /** The latest positions; those of the previous request until there are new ones. */
  layout = $state.raw<ProjectorLayoutResponse | null>(null);
  readonly #queries: QueryCache;
  readonly #getRequest: () => LayoutJobRequest;
  readonly #start: Query<JobStatus>;
  readonly #layout: Query<ProjectorLayoutResponse>;

  /** Call it where effects can be created. */
  constructor(
    context: Context,
    getRequest: () => LayoutJobRequest,
    getAxes: () => readonly number[],
    needsPositions: () => boolean = () => true,
  ) {
    this.#queries = context.queries;
    this.#getRequest = getRequest;
    this.#start = context.query(projectQuery, () => this.#getWireRequest());
    this.#layout = context.query(layoutQuery, () => {
      const job = this.#start.data?.job;
      if (job === undefined) return null;
      return { job, axes: getAxes(), coordinates: needsPositions() };
    });
    $effect.pre(() => {
      const { data } = this.#layout;
      if (getRequest() === null) this.layout = null;
      else if (data && data.coordinates.length > 0) this.layout = data;
    });
  }

  /** The share of the variance along each component of a PCA, also without positions. */
  get explainedRatio(): readonly number[] {
    return this.layout?.explained_ratio ?? this.#layout.data?.explained_ratio ?? [];
  }

  /** Null until the server has accepted the request. */
  readonly status = $derived.by<JobStatus | null>(() => {
    const start = this.#start;
    if (!start.data || start.isStale) return null;
    const job = this.#layout.data?.job;
    return job?.job === start.data.job ? job : start.data;
  });

  get isRunning(): boolean {
    return this.status !== null && isRunning(this.status);
  }

  get isCancelled(): boolean {
    return this.status?.state === 'cancelled';
  }

  get isDone(): boolean {
    return this.status?.state === 'done';
  }

  readonly error = $derived.by<Problem | null>(() => {
    const error = this.#start.error ?? this.#layout.error;
    if (error) return error.problem;
    const problem = this.status?.problem;
    return problem ? { message: translate(problem), hint: m.jobFailedHint } : null;
  });

  /** The positions of the current request are not complete. */
  get isPending(): boolean {
    if (this.#getRequest() === null || this.error) return false;
    return this.status === null || this.isRunning || !this.#layout.data || this.#layout.isStale;
  }

  /** Stop the job; the positions so far stay. */
  async cancel(): Promise<void> {
    if (this.status && this.isRunning) await cancelJob(this.#queries, this.status);
    this.#layout.retry();
  }

  /** Start the job again, after an error or when it was cancelled. */
  async restart(): Promise<void> {
    const request = this.#getWireRequest();
    if (request === null) return;
    this.#queries.invalidate(projectQuery);
    await this.#queries.fetch(projectQuery, request).catch(toProblem);
    this.#layout.retry();
  }

  #getWireRequest(): ProjectionRequest | null {
    const request = this.#getRequest();
    return request === 'pending' ? null : request;
  }
}

/** Clusters of points. The URL names the job of those that are shown. */
export class ClusterJob {
  readonly #queries: QueryCache;
  readonly #params: ProjectorParams;
  readonly #getRowCount: () => number;
  /** The job that was started last. */
  #started = $state.raw<string | null>(null);
  #requestError = $state.raw<Problem | null>(null);
  readonly #progress: Query<ClustersResponse>;
  readonly #shown: Query<ClustersResponse>;

  /** Call it where effects can be created. */
  constructor(context: Context, params: ProjectorParams, getRowCount: () => number) {
    this.#queries = context.queries;
    this.#params = params;
    this.#getRowCount = getRowCount;
    this.#progress = context.query(clustersQuery, () => toJobRequest(this.#started), {
      keepPrevious: false,
    });
    this.#shown = context.query(clustersQuery, () => toJobRequest(params.clusters.value));
    $effect(() => {
      const job = this.#progress.data?.job;
      if (job?.state !== 'done') return;
      this.#started = null;
      params.clusters.set(job.job, 'push');
      params.colorBy.set(CLUSTERS_COLUMN, 'push');
      params.hiddenValues.set([], 'push');
    });
  }

  /** Null for clusters of another embedding, and for those that the server has forgotten. */
  readonly result = $derived.by<ClustersResponse | null>(() => {
    const { data } = this.#shown;
    const isComplete = data?.job.state === 'done' && data.codes.length === this.#getRowCount();
    return isComplete ? data : null;
  });

  readonly names = $derived.by<readonly string[]>(() =>
    (this.result?.clusters ?? []).map(({ name, words }, index) =>
      words.length > 0 ? name : m.clusterNumber({ number: String(index + 1) }),
    ),
  );

  get status(): JobStatus | null {
    return this.#progress.data?.job ?? null;
  }

  get isRunning(): boolean {
    return this.status !== null && isRunning(this.status);
  }

  readonly error = $derived.by<Problem | null>(() => {
    const problem = this.status?.problem;
    if (problem) return { message: translate(problem), hint: m.clustersFailedHint };
    return this.#requestError ?? this.#progress.error?.problem ?? null;
  });

  /** Compute clusters, and color points by them when they are there. */
  async run(request: ClusterRequest): Promise<void> {
    this.#requestError = null;
    this.#started = null;
    try {
      const { job } = await this.#queries.mutate('POST projector/cluster', request);
      // The same job may have failed or been cancelled before.
      this.#queries.invalidate(clustersQuery);
      this.#started = job;
    } catch (error) {
      this.#requestError = toProblem(error);
    }
  }

  async cancel(): Promise<void> {
    if (this.status && this.isRunning) await cancelJob(this.#queries, this.status);
    this.#progress.retry();
  }

  /** Do not show clusters any more. */
  clear(): void {
    this.#started = null;
    this.#params.clusters.set('', 'push');
  }
}

/** Value of the `colorBy` parameter for clusters instead of a column of labels. */
export const CLUSTERS_COLUMN = ' clusters';

/** Return the properties of a progress bar for a running job. */
export function describeProgress({ state, stage: doing, done, total, device }: JobStatus): {
  readonly label: string;
  readonly value: number | null;
  readonly details: string;
} {
  const stage = state === 'waiting' ? m.jobWaiting : capitalize(translate(doing));
  const hasSteps = state !== 'waiting' && total > 0;
  const progress = { stage, done: formatInteger(done), total: formatInteger(total) };
  const details = hasSteps ? m.jobProgress(progress) : stage;
  return {
    label: stage,
    value: hasSteps ? done / total : null,
    details: device === 'cpu' ? details : m.jobDevice({ stage: details, device }),
  };
}

/** Sentences in the catalog of the server begin in lower case, as they may be part of others. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function toJobRequest(job: string | null): { readonly job: string } | null {
  return job === null || job === '' ? null : { job };
}

/** A failure is reported by the query that follows the job. */
async function cancelJob(queries: QueryCache, { job }: JobStatus): Promise<void> {
  await queries.mutate('DELETE projector/project', { job }).catch(toProblem);
}
