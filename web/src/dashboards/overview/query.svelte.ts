import { SvelteMap } from 'svelte/reactivity';

import { isAbortError } from '../../api/errors';
import { parseJsonNumber } from '../../api/decode';
import { RequestScheduler, SubscriptionSet } from '../../api/request-scheduler';
import type { ChartRow } from '../../api/scalar-schemas';
import type { ChartsRequest, ChartsResponse, LineRow } from '../../api/schemas';
import type { SparklineSeries } from '../../charts/sparkline';
import type { Context, VisibleRun } from '../../plugin/context';

/** How many runs one sparkline can show and still be read. */
export const MAX_SPARKLINE_RUNS = 8;

/** Not every run has every tag, so more are asked for than are shown. */
const MAX_REQUESTED_RUNS = 32;
const MAX_BATCH = 64;
const MIN_REFRESH_MS = 1000;

/** The sparklines of the rows that are on the screen; nothing else is asked for. */
export class TagSparklines {
  readonly #context: Context;
  readonly #charts = new SvelteMap<string, readonly TagSparkline[]>();
  readonly #subscriptions = new SubscriptionSet();
  #runs: readonly VisibleRun[] = [];
  #abort = new AbortController();
  readonly #scheduler = new RequestScheduler(() => this.#load(), MIN_REFRESH_MS);

  constructor(context: Context) {
    this.#context = context;
  }

  setRuns(runs: readonly VisibleRun[]): void {
    this.#abort.abort();
    this.#runs = runs.slice(0, MAX_REQUESTED_RUNS);
    this.#subscriptions.markStale();
    this.#scheduler.scheduleNow();
  }

  refresh(): void {
    this.#subscriptions.markStale();
    this.#scheduler.schedule();
  }

  dispose(): void {
    this.#abort.abort();
  }

  find(tag: string): readonly TagSparkline[] | undefined {
    return this.#charts.get(tag);
  }

  /** Keeps the chart of `tag` up to date until the function that it returns is called. */
  subscribe(tag: string): () => void {
    const letGo = this.#subscriptions.subscribe(tag);
    if (this.#subscriptions.listStale().length > 0) this.#scheduler.scheduleNow();
    return letGo;
  }

  async #load(): Promise<void> {
    const missing = this.#subscriptions.listStale();
    const asked = missing.slice(0, MAX_BATCH);
    if (asked.length === 0) return;
    this.#abort = new AbortController();
    this.#subscriptions.markFresh(asked);
    try {
      const ask = makeChartsRequest(asked, this.#runs);
      const answer = await this.#context.api.post<ChartsResponse>('query', ask, this.#abort.signal);
      for (const chart of answer.charts) this.#charts.set(chart.id, this.#read(chart));
    } catch (error) {
      // Rows are worth showing without their lines; the next change asks for these again.
      if (!isAbortError(error)) this.#subscriptions.markStale();
    }
    if (missing.length > asked.length) this.#scheduler.scheduleNow();
  }

  #read(chart: ChartRow): readonly TagSparkline[] {
    return readTagSparklines(chart, this.#runs).slice(0, MAX_SPARKLINE_RUNS);
  }
}

function makeChartsRequest(tags: readonly string[], runs: readonly VisibleRun[]): ChartsRequest {
  return {
    width: SPARKLINE_COLUMNS,
    runs: runs.map(({ name }) => name),
    x: 'step',
    smoothing: null,
    overwritten: false,
    baseline: null,
    groups: null,
    center: 'mean',
    band: 'std',
    charts: tags.map((tag) => ({ id: tag, tags: [tag], start: null, stop: null })),
  };
}

/** One run's line on columns that all lines of its chart share, and the value it ends with. */
export interface TagSparkline extends SparklineSeries {
  readonly run: string;
  readonly lastValue: number | null;
}

type SparklineCells = (number | null)[];

export const SPARKLINE_COLUMNS = 120;

/** The lines of the runs that have the tag, in the order of the runs. */
export function readTagSparklines(chart: ChartRow, runs: readonly VisibleRun[]): TagSparkline[] {
  const lines = new Map(chart.lines.map((line) => [line.run, line]));
  const columnOf = makeColumnLookup(chart);
  return runs.flatMap((run) => {
    const line = lines.get(run.name);
    return line ? [readTagSparkline(line, run, columnOf, chart.grid)] : [];
  });
}

function readTagSparkline(
  line: LineRow,
  run: VisibleRun,
  columnOf: (x: number) => number,
  grid: Float64Array | null,
): TagSparkline {
  const [low, high, last]: [SparklineCells, SparklineCells, SparklineCells] = [
    makeEmptyCells(),
    makeEmptyCells(),
    makeEmptyCells(),
  ];
  (line.x ?? grid ?? []).forEach((x, at) => {
    const column = columnOf(x);
    const value = line.y[at] ?? NaN;
    if (!Number.isFinite(value)) return;
    last[column] = value;
    low[column] = Math.min(low[column] ?? Infinity, line.low?.[at] ?? value);
    high[column] = Math.max(high[column] ?? -Infinity, line.high?.[at] ?? value);
  });
  const { color, name } = run;
  const end = parseJsonNumber(line.last?.value);
  return {
    run: name,
    color,
    dashed: run.dash.length > 0,
    min: low,
    max: high,
    last,
    lastValue: end,
  };
}

/** The column of an x, over all lines of the chart. */
function makeColumnLookup(chart: ChartRow): (x: number) => number {
  let [first, last] = [Infinity, -Infinity];
  for (const line of chart.lines) {
    const xs = line.x ?? chart.grid;
    first = Math.min(first, xs?.[0] ?? Infinity);
    last = Math.max(last, xs?.at(-1) ?? -Infinity);
  }
  const span = last - first;
  return (x) =>
    span > 0 ? Math.round(((x - first) / span) * (SPARKLINE_COLUMNS - 1)) : SPARKLINE_COLUMNS >> 1;
}

function makeEmptyCells(): SparklineCells {
  return new Array<number | null>(SPARKLINE_COLUMNS).fill(null);
}
