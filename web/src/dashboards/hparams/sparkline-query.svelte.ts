import { SvelteMap } from 'svelte/reactivity';

import { isAbortError } from '../../api/errors';
import { RequestScheduler, SubscriptionSet } from '../../api/request-scheduler';
import type { SparklineSeries } from '../../charts/sparkline';
import type { SparklinesResponse } from './schemas';
import { getColorRamp } from './model/trial-colors';
import type { HParamsDashboard } from './hparams-dashboard.svelte';

const MIN_REFRESH_MS = 1000;
const MAX_BATCH = 100;
const SPARKLINE_POINTS = 40;

/** The lines of the metric that sessions are judged by, of the rows that are on the screen. */
export class TrialSparklines {
  readonly #dashboard: HParamsDashboard;
  readonly #lines = new SvelteMap<string, SparklineSeries>();
  readonly #subscriptions = new SubscriptionSet();
  #metric = '';
  #abort = new AbortController();
  readonly #scheduler = new RequestScheduler(() => this.#load(), MIN_REFRESH_MS);

  constructor(study: HParamsDashboard) {
    this.#dashboard = study;
  }

  find(row: number): SparklineSeries | undefined {
    const name = this.#findName(row);
    return name === undefined ? undefined : this.#lines.get(name);
  }

  /** Keeps the line of a session up to date until the function that it returns is called. */
  subscribe(row: number): (() => void) | undefined {
    const name = this.#findName(row);
    if (name === undefined || this.#dashboard.settings.repeats.value !== 'each') return undefined;
    const letGo = this.#subscriptions.subscribe(name);
    if (this.#subscriptions.listStale().length > 0) this.#scheduler.scheduleNow();
    return letGo;
  }

  /** Lines of another metric, or of sessions that have grown, are asked for anew; for an effect. */
  refresh(): void {
    const metric = this.#dashboard.metric?.key.replace('metric:', '') ?? '';
    this.#dashboard.context.live.getRevision(null);
    if (metric !== this.#metric) this.#lines.clear();
    this.#metric = metric;
    this.#subscriptions.markStale();
    this.#scheduler.schedule();
  }

  dispose(): void {
    this.#abort.abort();
  }

  #findName(row: number): string | undefined {
    return this.#dashboard.trialsQuery.data?.rows.names[row];
  }

  async #load(): Promise<void> {
    const missing = this.#subscriptions.listStale();
    const sessions = missing.slice(0, MAX_BATCH);
    if (sessions.length === 0 || this.#metric === '') return;
    this.#abort = new AbortController();
    this.#subscriptions.markFresh(sessions);
    try {
      const answer = await this.#request(sessions);
      const color = getColorRamp(this.#dashboard.context.theme.dark).at(-8) ?? '';
      for (const { session, y } of answer.lines) this.#lines.set(session, makeSparkline(y, color));
    } catch (error) {
      // Rows are worth showing without their lines; the next change asks for these again.
      if (!isAbortError(error)) this.#subscriptions.markStale();
    }
    if (missing.length > sessions.length) this.#scheduler.scheduleNow();
  }

  #request(sessions: readonly string[]): Promise<SparklinesResponse> {
    const { api, isStatic } = this.#dashboard.context;
    const { signal } = this.#abort;
    const metric = this.#metric;
    if (isStatic) return api.get(`sparklines?metric=${encodeURIComponent(metric)}`, signal);
    return api.post('sparklines', { metric, sessions, points: SPARKLINE_POINTS }, signal);
  }
}

function makeSparkline(values: Float32Array, color: string): SparklineSeries {
  const cells = Array.from(values, (value) => (Number.isFinite(value) ? value : null));
  return { color, dashed: false, min: cells, max: cells, last: cells };
}
