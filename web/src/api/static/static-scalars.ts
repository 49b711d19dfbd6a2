/** The routes of the Scalars dashboard in a static export. */
import * as common from '../../catalog/common';
import { ServerError } from '../errors';
import type { ChartRow } from '../query-definition';
import type {
  ExportedSeries,
  ChartRequest,
  ChartsRequest,
  ChartsResponse,
  DownloadFormat,
  DownloadRequest,
  NearestPointsRequest,
  NearestPointsResponse,
  RangeStatsRequest,
  RangeStatsResponse,
  RunGroup,
} from '../schemas';
import {
  findNearest,
  getXRange,
  makeBandPlan,
  makeBandRows,
  makeChartRow,
  makeRangeStatsRow,
  toJsonNumber,
} from './chart-reduction';
import type { ExportContents, StaticHandlers } from './static-transport';
import {
  applyView,
  compareWithBaseline,
  makeBaseline,
  type SeriesKey,
  SeriesReader,
  type SeriesView,
} from './series-view';

/** Determines the columns of a table, which are those of the server. */
interface TableOptions {
  readonly format: DownloadFormat;
  readonly x: string;
  readonly smoothing: unknown;
}

type TableMember = readonly [SeriesKey, SeriesView];
type Columns = readonly (readonly [string, Float64Array])[];

const ROWS_PER_CHUNK = 10_000;

/** Write the points of some curves as a file; null for formats that a browser cannot write. */
export function writeTable(options: TableOptions, members: readonly TableMember[]): Blob | null {
  const tables = members.map(([{ run, tag }, curve]) => ({
    names: [run, tag],
    columns: listTableColumns(options, curve),
  }));
  return writeFile(options.format, 'run', tables);
}

/** The rows of one series: its run or group, its tag, and columns of numbers. */
interface SeriesTable {
  readonly names: readonly string[];
  readonly columns: Columns;
}

function writeFile(
  format: DownloadFormat,
  runColumn: string,
  tables: readonly SeriesTable[],
): Blob | null {
  const names = [runColumn, 'tag'];
  switch (format) {
    case 'csv':
      return new Blob([...iterCsv(names, tables)], { type: 'text/csv' });
    case 'json':
      return new Blob([writeJson(names, tables)], { type: 'application/json' });
    default:
      return null;
  }
}

/** Write the bands of some groups as a file; null for formats that a browser cannot write. */
function writeBandTable(
  request: Required<DownloadRequest>,
  groups: readonly RunGroup[],
  members: readonly TableMember[],
): Blob | null {
  const [start, stop] = getXRange({ start: null, stop: null }, members);
  const plan = makeBandPlan(request, start, stop, Infinity);
  const tables = makeBandRows(groups, members, plan).map(
    ({ group, tag, x, count, center, low, high }) => ({
      names: [group, tag],
      columns: [
        [request.x === 'step' ? 'step' : 'x', x],
        ['runs', Float64Array.from(count)],
        ['center', center],
        ['low', low],
        ['high', high],
      ] satisfies Columns,
    }),
  );
  return writeFile(request.format, 'group', tables);
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

/** Yield chunks, as building one string of a million lines is slow. */
function* iterCsv(
  nameColumns: readonly string[],
  tables: readonly SeriesTable[],
): Generator<string> {
  for (const [index, { names, columns }] of tables.entries()) {
    const header = [...nameColumns, ...columns.map(([name]) => name)];
    if (index === 0) yield `${header.join(',')}\n`;
    const series = names.map(quoteCsv).join(',');
    const length = columns[0]?.[1].length ?? 0;
    for (let start = 0; start < length; start += ROWS_PER_CHUNK) {
      const cells = columns.map(([, column]) => column.subarray(start, start + ROWS_PER_CHUNK));
      const lines = Array.from(cells[0] ?? [], (_, row) =>
        [series, ...cells.map((column) => formatCsvNumber(column[row]))].join(','),
      );
      yield `${lines.join('\n')}\n`;
    }
  }
}

function writeJson(nameColumns: readonly string[], tables: readonly SeriesTable[]): string {
  const series = tables.map(({ names, columns }) =>
    Object.fromEntries([
      ...nameColumns.map((name, index) => [name, names[index]] as const),
      ...columns.map(([name, column]) => [name, Array.from(column, toJsonNumber)] as const),
    ]),
  );
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
const BANDS_DEFAULTS = {
  ...SERIES_DEFAULTS,
  overwritten: false,
  groups: null,
  center: 'mean',
  band: 'std',
  min_runs: 1,
} as const;

type Member = readonly [SeriesKey, SeriesView];

const METRIC = 'metric:';

/** Serve the routes of Scalars from the points in an export. */
export function makeScalarHandlers(contents: ExportContents): StaticHandlers {
  const scalars = new StaticScalars(contents);
  return {
    'POST scalars/query': (request) => scalars.query({ ...BANDS_DEFAULTS, width: 400, ...request }),
    'POST scalars/at': (request) => scalars.findNearest({ ...SERIES_DEFAULTS, ...request }),
    'POST scalars/range': (request) =>
      scalars.summarize({ ...SERIES_DEFAULTS, start: null, stop: null, ...request }),
    'POST scalars/table': (request) =>
      scalars.writeTable({ ...BANDS_DEFAULTS, format: 'csv', ...request }),
  };
}

class StaticScalars {
  readonly #reader: SeriesReader;

  constructor(contents: ExportContents) {
    this.#reader = new SeriesReader(contents, 'api/v1/scalars/');
  }

  async query(request: Required<ChartsRequest>): Promise<ChartsResponse> {
    const charts = await Promise.all(
      request.charts.map((chart) =>
        this.#makeChart({ start: null, stop: null, ...chart }, request),
      ),
    );
    return { cursor: '', charts };
  }

  async #makeChart(
    chart: Omit<Required<ChartRequest>, 'base'>,
    request: Required<ChartsRequest>,
  ): Promise<ChartRow> {
    return makeChartRow(chart, request, await this.#readViews(chart.tags, request));
  }

  async findNearest(request: Required<NearestPointsRequest>): Promise<NearestPointsResponse> {
    const members = await this.#readViews(request.tags, request);
    const rows = members.map(([key, curve]) =>
      findNearest(key.run, key.tag, curve, request.x_value),
    );
    return { rows: rows.filter((row) => row !== null) };
  }

  async summarize(request: Required<RangeStatsRequest>): Promise<RangeStatsResponse> {
    const members = await this.#readViews(request.tags, request);
    const rows = members.map(([{ run, tag }, curve]) =>
      makeRangeStatsRow(run, tag, curve, request.start, request.stop),
    );
    return { rows: rows.filter((row) => row !== null) };
  }

  async writeTable(request: Required<DownloadRequest>): Promise<Blob> {
    const members = await this.#readViews(request.tags, { ...request, baseline: null });
    const file = request.groups
      ? writeBandTable(request, request.groups, members)
      : writeTable(request, members);
    if (!file) throw new ServerError(NO_PARQUET, 501);
    return file;
  }

  async #readViews(
    tags: readonly string[],
    request: SeriesViewRequest,
  ): Promise<readonly Member[]> {
    const found = await this.#reader.read(tags, request.runs);
    const applyRequest = await this.#makeView(request);
    const members = found.map(([key, series]) => [key, applyRequest(series)] as const);
    return request.baseline ? this.#compare(members, tags, request, applyRequest) : members;
  }

  async #compare(
    members: readonly Member[],
    tags: readonly string[],
    { baseline }: SeriesViewRequest,
    applyRequest: (series: ExportedSeries) => SeriesView,
  ): Promise<readonly Member[]> {
    if (!baseline) return members;
    const found = await this.#reader.read(tags, [baseline.run]);
    const baselines = new Map(
      found.map(([key, series]) => [key.tag, makeBaseline(applyRequest(series))]),
    );
    return members.map(([key, curve]) => [
      key,
      compareWithBaseline(curve, baselines.get(key.tag), baseline.mode ?? 'difference'),
    ]);
  }

  async #makeView({
    x,
    runs,
    smoothing,
  }: SeriesViewRequest): Promise<(series: ExportedSeries) => SeriesView> {
    if (!x.startsWith(METRIC)) return (series) => applyView(series, x, smoothing, null);
    const metrics = await this.#reader.read([x.slice(METRIC.length)], runs);
    const byRun = new Map(metrics.map(([key, metric]) => [key.run, metric]));
    return (series) => applyView(series, x, smoothing, byRun.get(series.run) ?? EMPTY_SERIES);
  }
}

/** A run without the metric of the axis has no points. */
const EMPTY_SERIES: ExportedSeries = {
  run: '',
  points: 0,
  overwritten: 0,
  nonfinite_count: 0,
  step: new Float64Array(),
  wall_time: new Float64Array(),
  value: new Float64Array(),
  index: null,
};

const NO_PARQUET = {
  message: common.staticNoParquetMessage,
  hint: common.staticNoParquetHint,
};
