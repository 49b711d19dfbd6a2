/** Data of the tag table: kinds of tags and sparklines. */
import { QueryMap } from '../../api/create-query.svelte';
import { parseJsonNumber } from '../../api/decode';
import type { ChartRow, ChartsView } from '../../api/scalar-schemas';
import type { LineRow } from '../../api/schemas';
import type { SparklineSeries } from '../../charts/sparkline';
import * as common from '../../catalog/common';
import * as m from '../../catalog/overview';
import type { Context, VisibleRun } from '../../plugin/context';
import { chartQuery, type ScalarChartRequest } from '../../scalar-cards/query';

/** Names of the kinds of tags, in the order of the filter. */
const KIND_LABELS = new Map([
  ['scalar', m.kindScalar],
  ['image', common.image],
  ['audio', common.audio],
  ['text', common.text],
  ['histogram', m.kindHistogram],
  ['tensor', m.kindTensor],
  ['graph', common.graph],
]);

export const KINDS: readonly string[] = [...KIND_LABELS.keys()];

export function getKindLabel(kind: string): string {
  return KIND_LABELS.get(kind) ?? kind;
}

/** More runs in one sparkline would be illegible. */
export const MAX_SPARKLINE_RUNS = 8;

/** Not every run has every tag, so more are requested than shown. */
const MAX_REQUESTED_RUNS = 32;

/** The sparklines of the visible rows. */
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

/** The line of one run, on columns that all lines of a chart share. */
export interface TagSparkline extends SparklineSeries {
  readonly run: string;
  readonly lastValue: number | null;
}

type SparklineCells = (number | null)[];

const SPARKLINE_COLUMNS = 120;

/** Return the lines of the runs that have the tag, in the order of the runs. */
function readTagSparklines(chart: ChartRow, runs: readonly VisibleRun[]): TagSparkline[] {
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
  const [low, high, last] = [makeEmptyCells(), makeEmptyCells(), makeEmptyCells()];
  (line.x ?? grid ?? []).forEach((x, index) => {
    const column = columnOf(x);
    const value = line.y[index] ?? NaN;
    if (!Number.isFinite(value)) return;
    last[column] = value;
    low[column] = Math.min(low[column] ?? Infinity, line.low?.[index] ?? value);
    high[column] = Math.max(high[column] ?? -Infinity, line.high?.[index] ?? value);
  });
  return {
    run: run.name,
    color: run.color,
    dashed: run.dash.length > 0,
    min: low,
    max: high,
    last,
    lastValue: parseJsonNumber(line.last?.value),
  };
}

/** Return a function from x to columns, for the range of all lines. */
function makeColumnLookup(chart: ChartRow): (x: number) => number {
  let [first, last] = [Infinity, -Infinity];
  for (const line of chart.lines) {
    const xs = line.x ?? chart.grid;
    first = Math.min(first, xs?.[0] ?? Infinity);
    last = Math.max(last, xs?.at(-1) ?? -Infinity);
  }
  const range = last - first;
  return (x) =>
    range > 0
      ? Math.round(((x - first) / range) * (SPARKLINE_COLUMNS - 1))
      : SPARKLINE_COLUMNS >> 1;
}

function makeEmptyCells(): SparklineCells {
  return new Array<number | null>(SPARKLINE_COLUMNS).fill(null);
}
