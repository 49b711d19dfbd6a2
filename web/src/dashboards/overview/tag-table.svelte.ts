/** Data of the tag table: kinds of tags and sparklines. */
import { QueryMap } from '../../api/create-query.svelte';
import { parseJsonNumber } from '../../api/columns';
import type { LineRow } from '../../api/schemas';
import type { SparklineSeries } from '../../charts/Sparkline.svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/overview';
import type { Context, VisibleRun } from '../../plugin/context';
import { chartQuery, type ScalarChartRequest } from '../../scalar-cards/query';
import type { ChartRow } from '../../api/query-definition';
import type { ChartsView } from '../../cards/card-sections';

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
const FIRST_PAGE_RUNS = 32;
/** Each page has this many times the runs of the one before, so that few requests reach all runs. */
const PAGE_GROWTH = 8;

/** A page of the visible runs. */
interface RunPage {
  readonly runs: readonly VisibleRun[];
  readonly view: ChartsView;
}

/**
 * The sparklines of the visible rows. For each tag, further pages of runs are requested until enough
 * runs have the tag.
 */
export class TagSparklines {
  readonly #charts: QueryMap<ScalarChartRequest, ChartRow>;
  readonly #pages: readonly RunPage[];

  constructor(context: Context) {
    this.#pages = $derived(makeRunPages(context.runs.visible));
    this.#charts = new QueryMap(context.queries, chartQuery, (key) => {
      const { index, tag } = parsePageKey(key);
      const page = this.#pages[index];
      if (!page) return null;
      return {
        view: page.view,
        width: SPARKLINE_COLUMNS,
        runCount: page.runs.length,
        chart: { tags: [tag], start: null, stop: null },
      };
    });
  }

  /** Rows are useful without sparklines, so errors are not shown. */
  find(tag: string): readonly TagSparkline[] | undefined {
    const charts = this.#findCharts(tag);
    if (charts.length === 0) return undefined;
    const runs = this.#pages.slice(0, charts.length).flatMap((page) => page.runs);
    return readTagSparklines(charts, runs).slice(0, MAX_SPARKLINE_RUNS);
  }

  /**
   * Keep the sparkline of a tag up to date until the returned function is called. Call it in an
   * effect.
   *
   * @param runCount The number of runs that have the tag.
   */
  subscribe(tag: string, runCount: number): () => void {
    const removals: (() => void)[] = [];
    $effect(() => {
      const pageCount = this.#countPages(tag, runCount);
      for (let index = removals.length; index < pageCount; index++)
        removals.push(this.#charts.subscribe(makePageKey(index, tag)));
    });
    return () => {
      for (const remove of removals) remove();
    };
  }

  /** Return the number of pages that are needed, given the responses so far. */
  #countPages(tag: string, runCount: number): number {
    const charts = this.#findCharts(tag);
    const lineCount = charts.reduce((sum, { lines }) => sum + lines.length, 0);
    const isEnough = charts.length > 0 && lineCount >= Math.min(runCount, MAX_SPARKLINE_RUNS);
    return Math.min(this.#pages.length, charts.length + (isEnough ? 0 : 1));
  }

  /** Return the charts of the first pages, up to one that is not loaded. */
  #findCharts(tag: string): readonly ChartRow[] {
    const charts: ChartRow[] = [];
    for (let index = 0; index < this.#pages.length; index++) {
      const chart = this.#charts.get(makePageKey(index, tag))?.data;
      if (!chart) break;
      charts.push(chart);
    }
    return charts;
  }
}

function makePageKey(index: number, tag: string): string {
  return `${index}:${tag}`;
}

function parsePageKey(key: string): { readonly index: number; readonly tag: string } {
  const separator = key.indexOf(':');
  return { index: Number(key.slice(0, separator)), tag: key.slice(separator + 1) };
}

/** Split the runs into pages, each larger than the one before. There is at least one page. */
function makeRunPages(runs: readonly VisibleRun[]): readonly RunPage[] {
  const pages: RunPage[] = [];
  let [start, size] = [0, FIRST_PAGE_RUNS];
  do {
    const page = runs.slice(start, start + size);
    pages.push({ runs: page, view: { ...VIEW, runs: page.map(({ name }) => name) } });
    [start, size] = [start + size, size * PAGE_GROWTH];
  } while (start < runs.length);
  return pages;
}

const VIEW: Omit<ChartsView, 'runs'> = {
  x: 'step',
  smoothing: null,
  overwritten: false,
  baseline: null,
  groups: null,
  center: 'mean',
  band: 'std',
  min_runs: 1,
};

/** The line of one run, on columns that all lines of a chart share. */
export interface TagSparkline extends SparklineSeries {
  readonly run: string;
  readonly lastValue: number | null;
}

type SparklineCells = (number | null)[];

const SPARKLINE_COLUMNS = 120;

/** Return the lines of the runs that have the tag, in the order of the runs. */
function readTagSparklines(
  charts: readonly ChartRow[],
  runs: readonly VisibleRun[],
): TagSparkline[] {
  const lines = new Map(
    charts.flatMap(({ lines, grid }) => lines.map((line) => [line.run, { line, grid }] as const)),
  );
  const columnOf = makeColumnLookup(charts);
  return runs.flatMap((run) => {
    const found = lines.get(run.name);
    return found ? [readTagSparkline(found.line, run, columnOf, found.grid)] : [];
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
function makeColumnLookup(charts: readonly ChartRow[]): (x: number) => number {
  let [first, last] = [Infinity, -Infinity];
  for (const { lines, grid } of charts)
    for (const line of lines) {
      const xs = line.x ?? grid;
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
