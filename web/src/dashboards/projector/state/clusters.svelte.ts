import { isAbort, problemOf } from '../../../api/client';
import type { Problem } from '../../../api/types';
import type { Api } from '../../../plugin/context';
import type { ClustersAnswer, JobRow } from '../data/answers';
import type { Reference } from './catalog.svelte';
import { cancelJob } from './job.svelte';

const POLL_MS = 250;

/** Groups that a method found among the points. */
export class Clusters {
  row = $state.raw<JobRow | null>(null);
  answer = $state.raw<ClustersAnswer | null>(null);
  problem = $state.raw<Problem | null>(null);
  readonly #api: Api;
  #asked = new AbortController();

  constructor(api: Api) {
    this.#api = api;
  }

  get isBusy(): boolean {
    return this.row?.state === 'running' || this.row?.state === 'waiting';
  }

  /** Returns whether there are groups now. */
  async find(reference: Reference, body: object): Promise<boolean> {
    this.stop();
    const { signal } = this.#asked;
    this.problem = null;
    try {
      this.row = await this.#api.post<JobRow>('cluster', { ...reference, ...body }, signal);
      return await this.#poll(this.row.job, signal);
    } catch (error) {
      if (isAbort(error) || signal.aborted) return false;
      this.problem = problemOf(error);
      this.row = null;
      return false;
    }
  }

  async cancel(): Promise<void> {
    if (this.row && this.isBusy) await cancelJob(this.#api, this.row.job);
  }

  forget(): void {
    this.stop();
    this.row = this.answer = this.problem = null;
  }

  stop(): void {
    this.#asked.abort();
    this.#asked = new AbortController();
  }

  async #poll(job: string, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const path = `clusters?job=${encodeURIComponent(job)}`;
      const answer = await this.#api.get<ClustersAnswer>(path, signal);
      if (signal.aborted) return false;
      this.row = answer.job;
      if (answer.job.state === 'done') this.answer = answer;
      if (answer.job.state === 'failed') {
        this.problem = { message: answer.job.problem, hint: 'Try other settings.' };
      }
      if (!this.isBusy) return answer.job.state === 'done';
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}
