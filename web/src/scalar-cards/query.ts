/** The queries of scalar cards. Charts with the same settings are loaded in one request. */
import { type ChartRow, defineQuery, type RevisionScope } from '../api/query-definition';
import type {
  ChartRequest,
  LineRow,
  NearestPointRow,
  NearestPointsResponse,
  RangeStatsResponse,
  RangeStatsRow,
  RunGroup,
} from '../api/schemas';
import {
  batchTags,
  type ChartsView,
  joinCharts,
  requestedRuns,
  splitCharts,
  type TagRequest,
} from '../cards/card-sections';
import type { NumberRange } from '../charts/types';
import type { RunGroup as PageRunGroup, Runs } from '../plugin/context';
import type { ScalarSettings } from './scalar-settings';

/** Return the settings that all charts of a dashboard share. */
export function makeChartsView(
  settings: ScalarSettings,
  runs: Runs,
  bandGroups: readonly PageRunGroup[],
): ChartsView {
  const mode = settings.mode.value;
  const baseline =
    mode === 'baseline' && runs.baseline !== null
      ? { run: runs.baseline, mode: settings.comparison.value }
      : null;
  return {
    runs: requestedRuns(runs),
    x: settings.x.value,
    smoothing: settings.smoothing.value,
    overwritten: settings.overwritten.value,
    baseline,
    groups: mode === 'bands' ? bandGroups.map(makeGroupRequest) : null,
    center: settings.center.value,
    band: settings.spread.value,
    min_runs: mode === 'bands' ? settings.minRuns.value : 1,
  };
}

/** Return the runs of a band for a request: their names or, in a large log, a query. */
export function makeGroupRequest({ key, runs, all }: PageRunGroup): RunGroup {
  return all ? { key, runs: [], query: all.query } : { key, runs };
}

/** Return how many series a chart is computed from. */
export function countRuns(runs: Runs, bandGroups: readonly PageRunGroup[]): number {
  const inBands = bandGroups.reduce((sum, { all }) => sum + (all?.count ?? 0), 0);
  return Math.max(runs.visible.length, inBands);
}

/** A chart of a large log changes with runs that the page does not know. */
function getScope({ runs, groups }: ChartsView): RevisionScope {
  return { runs: groups?.some(({ query }) => query) ? null : runs };
}

/** One chart of a view, reduced to `width` columns. */
export interface ScalarChartRequest {
  readonly view: ChartsView;
  readonly width: number;
  /** The number of runs limits the number of charts in a request. */
  readonly runCount: number;
  readonly chart: Omit<Required<ChartRequest>, 'id' | 'base'> & Pick<ChartRequest, 'base'>;
}

/** Short enough to show new points within a second while points arrive continuously. */
const CHARTS_REFRESH_MS = 250;
const MAX_LINES_PER_REQUEST = 400;
const MAX_LINES_FIRST_REQUEST = 40;
const MAX_CHARTS_PER_REQUEST = 32;

export const chartQuery = defineQuery('POST scalars/query', {
  scope: ({ view }: ScalarChartRequest) => getScope(view),
  minRefreshMs: CHARTS_REFRESH_MS,
  // Moving a slider or panning shows intermediate results.
  completes: (previous, next) => !needsOtherPoints(previous.view, next.view),
  batch: {
    shared: ({ view, width }) => withWidth(view, width),
    item: ({ chart }) => chart,
    maxItems: ({ runCount }) => countCharts(MAX_LINES_PER_REQUEST, runCount),
    firstItems: ({ runCount }) => countCharts(MAX_LINES_FIRST_REQUEST, runCount),
    join: (requests) => {
      const [first] = requests as [ScalarChartRequest];
      return { ...withWidth(first.view, first.width), charts: joinCharts(requests) };
    },
    split: splitCharts,
  },
  // Only the lines of runs that have changed are sent again.
  update: {
    request: (request, { revision }) => ({
      ...request,
      chart: { ...request.chart, base: revision || null },
    }),
    merge: mergeChart,
  },
});

/** Return a chart with all lines from one of which only the changed ones were sent. */
export function mergeChart(known: ChartRow, update: ChartRow): ChartRow {
  if (!update.base) return update;
  const changed = new Map(update.lines.map((line) => [getLineKey(line), copyColumns(line)]));
  const lines = known.lines.map((line) => changed.get(getLineKey(line)) ?? line);
  return { ...update, lines };
}

function getLineKey({ run, tag }: LineRow): string {
  return `${run}\n${tag}`;
}

/** Columns are views of the response: without a copy, one line would keep all of it in memory. */
function copyColumns(line: LineRow): LineRow {
  const { x, y, raw, low, high } = line;
  const copied = { x: x?.slice() ?? null, y: y.slice(), raw: raw?.slice() ?? null };
  return { ...line, ...copied, low: low?.slice() ?? null, high: high?.slice() ?? null };
}

type SizedView = ChartsView & { readonly width: number };

const sizedViews = new WeakMap<ChartsView, Map<number, SizedView>>();

/** Return the same object for the same view, so that its hundreds of run names are compared once. */
function withWidth(view: ChartsView, width: number): SizedView {
  const views = sizedViews.get(view) ?? new Map<number, SizedView>();
  sizedViews.set(view, views);
  const sized = views.get(width) ?? { ...view, width };
  views.set(width, sized);
  return sized;
}

function countCharts(maxLines: number, runCount: number): number {
  const charts = Math.floor(maxLines / Math.max(1, runCount));
  return Math.min(MAX_CHARTS_PER_REQUEST, Math.max(1, charts));
}

/** Return whether two views differ in more than smoothing, which a slider changes. */
export function needsOtherPoints(one: ChartsView, other: ChartsView): boolean {
  if (one === other) return false;
  const describe = (view: ChartsView): string => JSON.stringify({ ...view, smoothing: null });
  return describe(one) !== describe(other);
}

/** The fields of a view that select and transform series. */
type SeriesView = Pick<ChartsView, 'runs' | 'x' | 'smoothing' | 'baseline'>;

/** The points of a tag that are nearest to a position. */
export type TagPositionRequest = TagRequest<SeriesView & { readonly x_value: number }>;

/** The statistics of a tag over a range. */
export type TagRangeRequest = TagRequest<
  SeriesView & { readonly start: number; readonly stop: number }
>;

const MAX_TAGS_PER_REQUEST = 100;

export const nearestPointsQuery = defineQuery('POST scalars/at', {
  scope: ({ view }: TagPositionRequest) => ({ runs: view.runs }),
  batch: batchTags<TagPositionRequest['view'], NearestPointsResponse, NearestPointRow>(
    MAX_TAGS_PER_REQUEST,
    ({ rows }) => rows,
  ),
});

export const rangeStatsQuery = defineQuery('POST scalars/range', {
  scope: ({ view }: TagRangeRequest) => ({ runs: view.runs }),
  batch: batchTags<TagRangeRequest['view'], RangeStatsResponse, RangeStatsRow>(
    MAX_TAGS_PER_REQUEST,
    ({ rows }) => rows,
  ),
});

/** The points nearest to the pointer, of the tags of one chart. */
export const hoverQuery = defineQuery('POST scalars/at', {
  scope: ({ runs = null }) => ({ runs }),
  select: ({ rows }) => rows,
  priority: 'high',
  maxCost: 50,
});

/** Profiler captures, which are marked on the charts of their runs. */
export const captureMarksQuery = defineQuery('GET profile/captures', {
  scope: 'log',
  select: ({ captures }) => captures,
  minRefreshMs: 3000,
  priority: 'low',
});

/** Dumps and recordings of the debugger, whose first problems are marked on the charts. */
export const debuggerMarksQuery = defineQuery('GET debugger/sources', {
  scope: 'log',
  select: ({ sources }) => sources,
  minRefreshMs: 3000,
  priority: 'low',
});

/** Widths are rounded up, so that resizing the page does not send a request per pixel. */
const WIDTH_STEP_PX = 100;
/** Fraction of the visible range that is also requested at each side, so that lines reach the edges. */
const RANGE_MARGIN = 0.25;

/** Return the request for a chart of `width` pixels; `visible` is null unless it is zoomed. */
export function makeChartRequest(
  view: ChartsView,
  runCount: number,
  tags: readonly string[],
  width: number,
  visible: NumberRange | null,
): ScalarChartRequest {
  const columns = Math.ceil(width / WIDTH_STEP_PX) * WIDTH_STEP_PX;
  if (!visible) return { view, runCount, width: columns, chart: { tags, start: null, stop: null } };
  const margin = (visible[1] - visible[0]) * RANGE_MARGIN;
  const chart = { tags, start: visible[0] - margin, stop: visible[1] + margin };
  // The visible part keeps one column per pixel.
  return { view, runCount, width: Math.ceil(columns * (1 + 2 * RANGE_MARGIN)), chart };
}
