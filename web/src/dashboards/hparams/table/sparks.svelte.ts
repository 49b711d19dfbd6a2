import { SvelteMap } from 'svelte/reactivity';

import { isAbort } from '../../../api/client';
import { Demand } from '../../../base/demand';
import { Pace } from '../../../base/pace';
import type { SparkLine } from '../../../charts/sparkline';
import type { SparklinesAnswer } from '../data/answers';
import { inkColours } from '../model/ink';
import type { Study } from '../study.svelte';

const PAUSE_MS = 1000;
const MOST_ASKED = 100;
const POINTS = 40;

/** The lines of the metric that sessions are judged by, of the rows that are on the screen. */
export class Sparks {
  readonly #study: Study;
  readonly #lines = new SvelteMap<string, SparkLine>();
  readonly #demand = new Demand();
  #metric = '';
  #abort = new AbortController();
  readonly #loading = new Pace(() => this.#load(), PAUSE_MS);

  constructor(study: Study) {
    this.#study = study;
  }

  find(row: number): SparkLine | undefined {
    const name = this.#nameOf(row);
    return name === undefined ? undefined : this.#lines.get(name);
  }

  /** Keeps the line of a session up to date until the function that it returns is called. */
  want(row: number): (() => void) | undefined {
    const name = this.#nameOf(row);
    if (name === undefined || this.#study.settings.repeats.value !== 'each') return undefined;
    const letGo = this.#demand.want(name);
    if (this.#demand.missing().length > 0) this.#loading.askNow();
    return letGo;
  }

  /** Lines of another metric, or of sessions that have grown, are asked for anew; for an effect. */
  follow(): void {
    const metric = this.#study.metric?.key.replace('metric:', '') ?? '';
    this.#study.context.live.revisionOf(null);
    if (metric !== this.#metric) this.#lines.clear();
    this.#metric = metric;
    this.#demand.markStale();
    this.#loading.ask();
  }

  stop(): void {
    this.#abort.abort();
  }

  #nameOf(row: number): string | undefined {
    return this.#study.loader.answer?.rows.names[row];
  }

  async #load(): Promise<void> {
    const missing = this.#demand.missing();
    const sessions = missing.slice(0, MOST_ASKED);
    if (sessions.length === 0 || this.#metric === '') return;
    this.#abort = new AbortController();
    this.#demand.markFresh(sessions);
    try {
      const answer = await this.#ask(sessions);
      const colour = inkColours(this.#study.context.theme.dark).at(-8) ?? '';
      for (const { session, y } of answer.lines) this.#lines.set(session, sparkOf(y, colour));
    } catch (error) {
      // Rows are worth showing without their lines; the next change asks for these again.
      if (!isAbort(error)) this.#demand.markStale();
    }
    if (missing.length > sessions.length) this.#loading.askNow();
  }

  #ask(sessions: readonly string[]): Promise<SparklinesAnswer> {
    const { api, isStatic } = this.#study.context;
    const { signal } = this.#abort;
    const metric = this.#metric;
    if (isStatic) return api.get(`sparklines?metric=${encodeURIComponent(metric)}`, signal);
    return api.post('sparklines', { metric, sessions, points: POINTS }, signal);
  }
}

function sparkOf(values: Float32Array, colour: string): SparkLine {
  const cells = Array.from(values, (value) => (Number.isFinite(value) ? value : null));
  return { colour, dashed: false, low: cells, high: cells, last: cells };
}
