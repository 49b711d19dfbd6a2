import { ApiError } from '../../client';
import type {
  AtAnswer,
  ChartAnswer,
  ChartAsk,
  Comparison,
  QueryAnswer,
  QueryAsk,
  RangeAnswer,
  Smoothing,
} from '../../scalars';
import type { Contents } from '../contents';
import { compare, makeBaseline } from './baseline';
import { drawChart } from './charts';
import { type Curve, look } from './curve';
import { findNearest } from './points';
import { sumUp } from './range';
import { type Key, Library, type Series } from './series';
import { type TableAsk, writeTable } from './table';

/** What all asks have in common. */
interface Look {
  readonly runs: readonly string[] | null;
  readonly x: string;
  readonly smoothing: Smoothing | null;
  readonly baseline: { readonly run: string; readonly mode: Comparison } | null;
}

interface AtAsk extends Look {
  readonly tags: readonly string[];
  readonly at: number;
}

interface RangeAsk extends Look {
  readonly tags: readonly string[];
  readonly start: number | null;
  readonly stop: number | null;
}

interface FileAsk extends Look, TableAsk {
  readonly tags: readonly string[];
  readonly smoothing: Smoothing | null;
}

type Member = readonly [Key, Curve];

const METRIC = 'metric:';

/** The server half of the Scalars dashboard, over the points that a copy carries. */
export class ScalarsCopy {
  static readonly below = 'api/v1/scalars/';
  readonly #library: Library;

  constructor(contents: Contents) {
    this.#library = new Library(contents, ScalarsCopy.below);
  }

  answer(path: string, ask: unknown): Promise<unknown> {
    switch (path) {
      case 'query':
        return this.#query(ask as QueryAsk);
      case 'at':
        return this.#at(ask as AtAsk);
      case 'range':
        return this.#range(ask as RangeAsk);
      case 'table':
        return this.#table(ask as FileAsk);
      default:
        return Promise.reject(new ApiError(UNKNOWN, 404));
    }
  }

  async #query(ask: QueryAsk): Promise<QueryAnswer> {
    const charts = await Promise.all(ask.charts.map((chart) => this.#chart(chart, ask)));
    return { cursor: 'copy', charts };
  }

  async #chart(chart: ChartAsk, ask: QueryAsk): Promise<ChartAnswer> {
    return drawChart(chart, ask, await this.#look(chart.tags, ask));
  }

  async #at(ask: AtAsk): Promise<AtAnswer> {
    const members = await this.#look(ask.tags, ask);
    const rows = members.map(([key, curve]) => findNearest(key.run, key.tag, curve, ask.at));
    return { rows: rows.filter((row) => row !== null) };
  }

  async #range(ask: RangeAsk): Promise<RangeAnswer> {
    const members = await this.#look(ask.tags, ask);
    const rows = members.map(([{ run, tag }, curve]) =>
      sumUp(run, tag, curve, ask.start, ask.stop),
    );
    return { rows: rows.filter((row) => row !== null) };
  }

  async #table(ask: FileAsk): Promise<Blob> {
    const file = writeTable(ask, await this.#look(ask.tags, { ...ask, baseline: null }));
    if (!file) throw new ApiError(NO_PARQUET, 501);
    return file;
  }

  async #look(tags: readonly string[], ask: Look): Promise<readonly Member[]> {
    const found = await this.#library.find(tags, ask.runs);
    const see = await this.#makeLens(ask);
    const members = found.map(([key, series]) => [key, see(series)] as const);
    return ask.baseline ? this.#compare(members, tags, ask, see) : members;
  }

  async #compare(
    members: readonly Member[],
    tags: readonly string[],
    { baseline }: Look,
    see: (series: Series) => Curve,
  ): Promise<readonly Member[]> {
    if (!baseline) return members;
    const found = await this.#library.find(tags, [baseline.run]);
    const bases = new Map(found.map(([key, series]) => [key.tag, makeBaseline(see(series))]));
    return members.map(([key, curve]) => [key, compare(curve, bases.get(key.tag), baseline.mode)]);
  }

  async #makeLens({ x, runs, smoothing }: Look): Promise<(series: Series) => Curve> {
    if (!x.startsWith(METRIC)) return (series) => look(series, x, smoothing, null);
    const metrics = await this.#library.find([x.slice(METRIC.length)], runs);
    const byRun = new Map(metrics.map(([key, metric]) => [key.run, metric]));
    return (series) => look(series, x, smoothing, byRun.get(series.run) ?? NOTHING);
  }
}

/** On an axis that a run has no values for, none of its points has a place. */
const NOTHING: Series = {
  run: '',
  points: 0,
  overwritten: 0,
  odd: 0,
  step: new Float64Array(),
  wall_time: new Float64Array(),
  value: new Float64Array(),
  index: null,
};

const UNKNOWN = {
  message: 'A copy of a board cannot answer this.',
  hint: 'Open the log itself with tracklight.',
};

const NO_PARQUET = {
  message: 'A copy of a board cannot write Parquet.',
  hint: 'Take CSV or JSON, or open the log itself with tracklight.',
};
