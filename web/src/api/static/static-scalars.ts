import { ServerError } from '../errors';
import type { ChartRow } from '../scalar-schemas';
import type {
  ChartRequest,
  ChartsRequest,
  ChartsResponse,
  DownloadFormat,
  DownloadRequest,
  NearestPointsRequest,
  NearestPointsResponse,
  RangeStatsRequest,
  RangeStatsResponse,
} from '../schemas';
import { findNearest, makeChartRow, makeRangeStatsRow, toJsonNumber } from './chart-reduction';
import type { ExportContents } from './contents';
import type { StaticHandlers } from './static-transport';
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
  readonly format: DownloadFormat;
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

/** The fields of requests that select and transform series. */
type SeriesViewRequest = Required<
  Pick<NearestPointsRequest, 'runs' | 'x' | 'smoothing' | 'baseline'>
>;

const SERIES_DEFAULTS = { runs: null, x: 'step', smoothing: null, baseline: null } as const;
const CHARTS_DEFAULTS = {
  ...SERIES_DEFAULTS,
  width: 400,
  overwritten: false,
  groups: null,
  center: 'mean',
  band: 'std',
} as const;

type Member = readonly [SeriesKey, SeriesView];

const METRIC = 'metric:';

/** Serve the routes of Scalars from the points in an export. */
export function makeScalarHandlers(contents: ExportContents): StaticHandlers {
  const scalars = new StaticScalars(contents);
  return {
    'POST scalars/query': (request) => scalars.query({ ...CHARTS_DEFAULTS, ...request }),
    'POST scalars/at': (request) => scalars.findNearest({ ...SERIES_DEFAULTS, ...request }),
    'POST scalars/range': (request) =>
      scalars.summarize({ ...SERIES_DEFAULTS, start: null, stop: null, ...request }),
    'POST scalars/table': (request) =>
      scalars.writeTable({ ...SERIES_DEFAULTS, format: 'csv', overwritten: false, ...request }),
  };
}

class StaticScalars {
  readonly #library: SeriesReader;

  constructor(contents: ExportContents) {
    this.#library = new SeriesReader(contents, 'api/v1/scalars/');
  }

  async query(request: Required<ChartsRequest>): Promise<ChartsResponse> {
    const charts = await Promise.all(
      request.charts.map((chart) => this.#chart({ start: null, stop: null, ...chart }, request)),
    );
    return { cursor: 'copy', charts };
  }

  async #chart(chart: Required<ChartRequest>, ask: Required<ChartsRequest>): Promise<ChartRow> {
    return makeChartRow(chart, ask, await this.#look(chart.tags, ask));
  }

  async findNearest(ask: Required<NearestPointsRequest>): Promise<NearestPointsResponse> {
    const members = await this.#look(ask.tags, ask);
    const rows = members.map(([key, curve]) => findNearest(key.run, key.tag, curve, ask.at));
    return { rows: rows.filter((row) => row !== null) };
  }

  async summarize(ask: Required<RangeStatsRequest>): Promise<RangeStatsResponse> {
    const members = await this.#look(ask.tags, ask);
    const rows = members.map(([{ run, tag }, curve]) =>
      makeRangeStatsRow(run, tag, curve, ask.start, ask.stop),
    );
    return { rows: rows.filter((row) => row !== null) };
  }

  async writeTable(ask: Required<DownloadRequest>): Promise<Blob> {
    const file = writeTable(ask, await this.#look(ask.tags, { ...ask, baseline: null }));
    if (!file) throw new ServerError(NO_PARQUET, 501);
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
      compareWithBaseline(curve, bases.get(key.tag), baseline.mode ?? 'difference'),
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

const NO_PARQUET = {
  message: 'A static export cannot write Parquet files.',
  hint: 'Use CSV or JSON, or open the log directory with tracklight.',
};
