import { ask, isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import type { Api } from '../../../plugin/context';
import type { JobRow, LayoutAnswer } from '../data/answers';
import { queryOf } from './query';

const POLL_MS = 150;
/** A job that was not heard of for this long is asked about less often. */
const SLOW_POLL_MS = 600;

/** A layout in the making: followed while points move, until it is done. */
export class LayoutJob {
  row = $state.raw<JobRow | null>(null);
  /** The last places that were seen. */
  answer = $state.raw<LayoutAnswer | null>(null);
  problem = $state.raw<Problem | null>(null);
  /** It was asked for and has not come to its end. */
  isAwaited = $state(false);
  readonly #api: Api;
  #asked = new AbortController();

  constructor(api: Api) {
    this.#api = api;
  }

  get isBusy(): boolean {
    return this.row?.state === 'running' || this.row?.state === 'waiting';
  }

  /** Somebody ended it before it was done. */
  get isCancelled(): boolean {
    return this.row?.state === 'cancelled';
  }

  get isDone(): boolean {
    return this.row?.state === 'done';
  }

  /** Starts what `body` asks for, or finds it done, and follows it to its end. */
  async follow(body: object, axes: readonly number[]): Promise<void> {
    this.stop();
    const { signal } = this.#asked;
    this.problem = null;
    this.isAwaited = true;
    try {
      this.row = await this.#api.post<JobRow>('project', body, signal);
      await this.#poll(this.row.job, axes, signal);
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.row = null;
      this.problem = problemOf(error);
    }
    if (!signal.aborted) this.isAwaited = false;
  }

  /** Leaves the job to itself. */
  stop(): void {
    this.#asked.abort();
    this.#asked = new AbortController();
    this.isAwaited = false;
  }

  /** Ends it; what is there stays. */
  async cancel(): Promise<void> {
    const { row } = this;
    if (row && this.isBusy) await cancelJob(this.#api, row.job);
  }

  forget(): void {
    this.stop();
    this.row = this.answer = this.problem = null;
  }

  async #poll(job: string, axes: readonly number[], signal: AbortSignal): Promise<void> {
    for (let seen = 0; ;) {
      const path = `layout?${queryOf({ job, seen })}&${listAxes(axes)}`;
      const answer = await this.#api.get<LayoutAnswer>(path, signal);
      if (signal.aborted) return;
      this.row = answer.job;
      if (answer.places.length > 0) this.answer = answer;
      if (answer.job.state === 'failed') this.problem = failure(answer.job);
      if (!this.isBusy) return;
      const isNew = answer.job.frame !== seen;
      seen = answer.job.frame;
      await new Promise((resolve) => setTimeout(resolve, isNew ? POLL_MS : SLOW_POLL_MS));
      if (signal.aborted) return;
    }
  }
}

export function listAxes(axes: readonly number[]): string {
  return axes.map((axis) => `axes=${axis}`).join('&');
}

function failure({ problem }: JobRow): Problem {
  return { message: problem, hint: 'Other settings may do, or fewer points.' };
}

export async function cancelJob(api: Api, job: string): Promise<void> {
  await ask(`${api.url('project')}?${queryOf({ job })}`, { method: 'DELETE' });
}
