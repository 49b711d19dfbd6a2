import { ApiError } from '../client';
import type {
  BaselineMode,
  ChartRequest,
  ChartRow,
  ChartsRequest,
  ChartsResponse,
  NearestPointsResponse,
  RangeStatsResponse,
  Smoothing,
  TableFormat,
} from '../scalar-schemas';
import { findNearest, makeChartRow, makeRangeStatsRow, toJsonNumber } from './chart-reduction';
import type { ExportContents } from './contents';
import {
  applyView,
  compareWithBaseline,
  type ExportedSeries,
  makeBaseline,
  type SeriesKey,
  SeriesReader,
  type SeriesView,
} from './series-view';

/** Which columns the points of a file have; the server's files have the same. */
export interface TableOptions {
  readonly format: TableFormat;
  readonly x: string;
  readonly smoothing: unknown;
}

type TableMember = readonly [SeriesKey, SeriesView];
type Columns = readonly (readonly [string, Float64Array])[];

const ROWS_PER_CHUNK = 10_000;

/** The points of some curves as a file; null for a format that a browser cannot write. */
export function writeTable(ask: TableOptions, members: readonly TableMember[]): Blob | null {
  switch (ask.format) {
    case 'csv':
      return new Blob([...iterCsv(ask, members)], { type: 'text/csv' });
    case 'json':
      return new Blob([writeJson(ask, members)], { type: 'application/json' });
    default:
      return null;
  }
}

function listTableColumns({ x, smoothing }: TableOptions, curve: SeriesView): Columns {
  return [
    ['step', curve.step],
    ['wall_time', curve.wallTime],
    ...(x === 'step' ? [] : [['x', curve.x] as const]),
    ['value', curve.value],
    ...(smoothing === null ? [] : [['smoothed', curve.smoothed] as const]),
  ];
}

/** In pieces, as one text of a million lines would be made anew with every line. */
function* iterCsv(ask: TableOptions, members: readonly TableMember[]): Generator<string> {
  for (const [place, [key, curve]] of members.entries()) {
    const columns = listTableColumns(ask, curve);
    const names = columns.map(([name]) => name);
    if (place === 0) yield `${['run', 'tag', ...names].join(',')}\n`;
    const who = `${quoteCsv(key.run)},${quoteCsv(key.tag)}`;
    for (let from = 0; from < curve.x.length; from += ROWS_PER_CHUNK) {
      const cells = columns.map(([, column]) => column.subarray(from, from + ROWS_PER_CHUNK));
      const lines = Array.from(cells[0] ?? [], (_, row) =>
        [who, ...cells.map((column) => formatCsvNumber(column[row]))].join(','),
      );
      yield `${lines.join('\n')}\n`;
    }
  }
}

function writeJson(ask: TableOptions, members: readonly TableMember[]): string {
  const series = members.map(([{ run, tag }, curve]) => ({
    run,
    tag,
    ...Object.fromEntries(
      listTableColumns(ask, curve).map(([name, column]) => [
        name,
        Array.from(column, toJsonNumber),
      ]),
    ),
  }));
  return JSON.stringify(series);
}

function quoteCsv(name: string): string {
  return /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

function formatCsvNumber(value = NaN): string {
  if (Number.isFinite(value)) return String(value);
  return String(value).toLowerCase().replace('infinity', 'inf');
}

/** What all asks have in common. */
interface SeriesViewRequest {
  readonly runs: readonly string[] | null;
  readonly x: string;
  readonly smoothing: Smoothing | null;
  readonly baseline: { readonly run: string; readonly mode: BaselineMode } | null;
}

interface NearestPointsRequest extends SeriesViewRequest {
  readonly tags: readonly string[];
  readonly at: number;
}

interface RangeStatsRequest extends SeriesViewRequest {
  readonly tags: readonly string[];
  readonly start: number | null;
  readonly stop: number | null;
}

interface DownloadRequest extends SeriesViewRequest, TableOptions {
  readonly tags: readonly string[];
  readonly smoothing: Smoothing | null;
}

type Member = readonly [SeriesKey, SeriesView];

const METRIC = 'metric:';

/** The server half of the Scalars dashboard, over the points that a copy carries. */
export class StaticScalars {
  static readonly pathPrefix = 'api/v1/scalars/';
  readonly #library: SeriesReader;

  constructor(contents: ExportContents) {
    this.#library = new SeriesReader(contents, StaticScalars.pathPrefix);
  }

  handle(path: string, ask: unknown): Promise<unknown> {
    switch (path) {
      case 'query':
        return this.#query(ask as ChartsRequest);
      case 'at':
        return this.#at(ask as NearestPointsRequest);
      case 'range':
        return this.#range(ask as RangeStatsRequest);
      case 'table':
        return this.#table(ask as DownloadRequest);
      default:
        return Promise.reject(new ApiError(NOT_EXPORTED, 404));
    }
  }

  async #query(ask: ChartsRequest): Promise<ChartsResponse> {
    const charts = await Promise.all(ask.charts.map((chart) => this.#chart(chart, ask)));
    return { cursor: 'copy', charts };
  }

  async #chart(chart: ChartRequest, ask: ChartsRequest): Promise<ChartRow> {
    return makeChartRow(chart, ask, await this.#look(chart.tags, ask));
  }

  async #at(ask: NearestPointsRequest): Promise<NearestPointsResponse> {
    const members = await this.#look(ask.tags, ask);
    const rows = members.map(([key, curve]) => findNearest(key.run, key.tag, curve, ask.at));
    return { rows: rows.filter((row) => row !== null) };
  }

  async #range(ask: RangeStatsRequest): Promise<RangeStatsResponse> {
    const members = await this.#look(ask.tags, ask);
    const rows = members.map(([{ run, tag }, curve]) =>
      makeRangeStatsRow(run, tag, curve, ask.start, ask.stop),
    );
    return { rows: rows.filter((row) => row !== null) };
  }

  async #table(ask: DownloadRequest): Promise<Blob> {
    const file = writeTable(ask, await this.#look(ask.tags, { ...ask, baseline: null }));
    if (!file) throw new ApiError(NO_PARQUET, 501);
    return file;
  }

  async #look(tags: readonly string[], ask: SeriesViewRequest): Promise<readonly Member[]> {
    const found = await this.#library.read(tags, ask.runs);
    const see = await this.#makeLens(ask);
    const members = found.map(([key, series]) => [key, see(series)] as const);
    return ask.baseline ? this.#compare(members, tags, ask, see) : members;
  }

  async #compare(
    members: readonly Member[],
    tags: readonly string[],
    { baseline }: SeriesViewRequest,
    see: (series: ExportedSeries) => SeriesView,
  ): Promise<readonly Member[]> {
    if (!baseline) return members;
    const found = await this.#library.read(tags, [baseline.run]);
    const bases = new Map(found.map(([key, series]) => [key.tag, makeBaseline(see(series))]));
    return members.map(([key, curve]) => [
      key,
      compareWithBaseline(curve, bases.get(key.tag), baseline.mode),
    ]);
  }

  async #makeLens({
    x,
    runs,
    smoothing,
  }: SeriesViewRequest): Promise<(series: ExportedSeries) => SeriesView> {
    if (!x.startsWith(METRIC)) return (series) => applyView(series, x, smoothing, null);
    const metrics = await this.#library.read([x.slice(METRIC.length)], runs);
    const byRun = new Map(metrics.map(([key, metric]) => [key.run, metric]));
    return (series) => applyView(series, x, smoothing, byRun.get(series.run) ?? EMPTY_SERIES);
  }
}

/** On an axis that a run has no values for, none of its points has a place. */
const EMPTY_SERIES: ExportedSeries = {
  run: '',
  points: 0,
  overwritten: 0,
  odd: 0,
  step: new Float64Array(),
  wall_time: new Float64Array(),
  value: new Float64Array(),
  index: null,
};

const NOT_EXPORTED = {
  message: 'A copy of a board cannot answer this.',
  hint: 'Open the log itself with tracklight.',
};

const NO_PARQUET = {
  message: 'A copy of a board cannot write Parquet.',
  hint: 'Take CSV or JSON, or open the log itself with tracklight.',
};
