import { QueryMap } from '../../api/create-query.svelte';
import { parseJsonNumber } from '../../api/decode';
import type { ChartRow, ChartsView } from '../../api/scalar-schemas';
import type { LineRow } from '../../api/schemas';
import type { SparklineSeries } from '../../charts/sparkline';
import type { Context, VisibleRun } from '../../plugin/context';
import { chartQuery, type ScalarChartRequest } from '../../scalar-cards/query';

/** How many runs one sparkline can show and still be read. */
export const MAX_SPARKLINE_RUNS = 8;

/** Not every run has every tag, so more are requested than shown. */
const MAX_REQUESTED_RUNS = 32;

/** The sparklines of the rows on the screen. */
export class TagSparklines {
  readonly #charts: QueryMap<ScalarChartRequest, ChartRow>;
  readonly #runs: readonly VisibleRun[];
  readonly #view: ChartsView;

  constructor(context: Context) {
    this.#runs = $derived(context.runs.visible.slice(0, MAX_REQUESTED_RUNS));
    this.#view = $derived({ ...VIEW, runs: this.#runs.map(({ name }) => name) });
    this.#charts = new QueryMap(context.queries, chartQuery, (tag) => ({
      view: this.#view,
      width: SPARKLINE_COLUMNS,
      runCount: this.#runs.length,
      chart: { tags: [tag], start: null, stop: null },
    }));
  }

  /** Rows are useful without sparklines, so errors are not shown. */
  find(tag: string): readonly TagSparkline[] | undefined {
    const chart = this.#charts.get(tag)?.data;
    return chart && readTagSparklines(chart, this.#runs).slice(0, MAX_SPARKLINE_RUNS);
  }

  /** Keep the sparkline of a tag up to date until the returned function is called. */
  subscribe(tag: string): () => void {
    return this.#charts.subscribe(tag);
  }
}

const VIEW: Omit<ChartsView, 'runs'> = {
  x: 'step',
  smoothing: null,
  overwritten: false,
  baseline: null,
  groups: null,
  center: 'mean',
  band: 'std',
};

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
