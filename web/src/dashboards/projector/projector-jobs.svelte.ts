import { apiRequest } from '../../api/client';
import { isAbortError, toProblem } from '../../api/errors';
import type { Problem } from '../../api/schemas';
import type { DashboardApi } from '../../plugin/context';
import { type EmbeddingReference, formatProjectorQuery } from './query.svelte';
import type { ClustersResponse, JobStatus, LayoutResponse } from './schemas';

const LAYOUT_POLL_MS = 150;
/** A job that was not heard of for this long is asked about less often. */
const LAYOUT_IDLE_POLL_MS = 600;

/** A layout in the making: followed while points move, until it is done. */
export class LayoutJob {
  status = $state.raw<JobStatus | null>(null);
  /** The last places that were seen. */
  layout = $state.raw<LayoutResponse | null>(null);
  error = $state.raw<Problem | null>(null);
  /** It was asked for and has not come to its end. */
  isPending = $state(false);
  readonly #api: DashboardApi;
  #abortController = new AbortController();

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  get isRunning(): boolean {
    return this.status?.state === 'running' || this.status?.state === 'waiting';
  }

  /** Somebody ended it before it was done. */
  get isCancelled(): boolean {
    return this.status?.state === 'cancelled';
  }

  get isDone(): boolean {
    return this.status?.state === 'done';
  }

  /** Starts what `body` asks for, or finds it done, and follows it to its end. */
  async run(body: object, axes: readonly number[]): Promise<void> {
    this.stop();
    const { signal } = this.#abortController;
    this.error = null;
    this.isPending = true;
    try {
      this.status = await this.#api.post<JobStatus>('project', body, signal);
      await this.#poll(this.status.job, axes, signal);
    } catch (error) {
      if (isAbortError(error) || signal.aborted) return;
      this.status = null;
      this.error = toProblem(error);
    }
    if (!signal.aborted) this.isPending = false;
  }

  /** Leaves the job to itself. */
  stop(): void {
    this.#abortController.abort();
    this.#abortController = new AbortController();
    this.isPending = false;
  }

  /** Ends it; what is there stays. */
  async cancel(): Promise<void> {
    const { status } = this;
    if (status && this.isRunning) await cancelJob(this.#api, status.job);
  }

  reset(): void {
    this.stop();
    this.status = this.layout = this.error = null;
  }

  async #poll(job: string, axes: readonly number[], signal: AbortSignal): Promise<void> {
    for (let seen = 0; ;) {
      const path = `layout?${formatProjectorQuery({ job, seen })}&${formatAxes(axes)}`;
      const answer = await this.#api.get<LayoutResponse>(path, signal);
      if (signal.aborted) return;
      this.status = answer.job;
      if (answer.places.length > 0) this.layout = answer;
      if (answer.job.state === 'failed') this.error = jobError(answer.job);
      if (!this.isRunning) return;
      const isNew = answer.job.frame !== seen;
      seen = answer.job.frame;
      await new Promise((resolve) =>
        setTimeout(resolve, isNew ? LAYOUT_POLL_MS : LAYOUT_IDLE_POLL_MS),
      );
      if (signal.aborted) return;
    }
  }
}

export function formatAxes(axes: readonly number[]): string {
  return axes.map((axis) => `axes=${axis}`).join('&');
}

function jobError({ problem }: JobStatus): Problem {
  return { message: problem, hint: 'Other settings may do, or fewer points.' };
}

export async function cancelJob(api: DashboardApi, job: string): Promise<void> {
  await apiRequest(`${api.url('project')}?${formatProjectorQuery({ job })}`, { method: 'DELETE' });
}

const CLUSTER_POLL_MS = 250;

/** Groups that a method found among the points. */
export class ClusterJob {
  status = $state.raw<JobStatus | null>(null);
  result = $state.raw<ClustersResponse | null>(null);
  error = $state.raw<Problem | null>(null);
  readonly #api: DashboardApi;
  #abortController = new AbortController();

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  get isRunning(): boolean {
    return this.status?.state === 'running' || this.status?.state === 'waiting';
  }

  /** Returns whether there are groups now. */
  async run(reference: EmbeddingReference, body: object): Promise<boolean> {
    this.stop();
    const { signal } = this.#abortController;
    this.error = null;
    try {
      this.status = await this.#api.post<JobStatus>('cluster', { ...reference, ...body }, signal);
      return await this.#poll(this.status.job, signal);
    } catch (error) {
      if (isAbortError(error) || signal.aborted) return false;
      this.error = toProblem(error);
      this.status = null;
      return false;
    }
  }

  async cancel(): Promise<void> {
    if (this.status && this.isRunning) await cancelJob(this.#api, this.status.job);
  }

  reset(): void {
    this.stop();
    this.status = this.result = this.error = null;
  }

  stop(): void {
    this.#abortController.abort();
    this.#abortController = new AbortController();
  }

  async #poll(job: string, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const path = `clusters?job=${encodeURIComponent(job)}`;
      const answer = await this.#api.get<ClustersResponse>(path, signal);
      if (signal.aborted) return false;
      this.status = answer.job;
      if (answer.job.state === 'done') this.result = answer;
      if (answer.job.state === 'failed') {
        this.error = { message: answer.job.problem, hint: 'Try other settings.' };
      }
      if (!this.isRunning) return answer.job.state === 'done';
      await new Promise((resolve) => setTimeout(resolve, CLUSTER_POLL_MS));
    }
  }
}
