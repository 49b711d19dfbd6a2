import { ServerError } from '../api/errors';
import { defineQuery } from '../api/query-definition';
import type { ChartRow, ChartsView } from '../api/scalar-schemas';
import type { ChartRequest, NearestPointRow, RangeStatsRow } from '../api/schemas';
import type { NumberRange } from '../charts/types';

/** One chart of a view, reduced to `width` columns. */
export interface ScalarChartRequest {
  readonly view: ChartsView;
  readonly width: number;
  /** How many runs the view has, which limits the number of charts in a request. */
  readonly runCount: number;
  readonly chart: Omit<Required<ChartRequest>, 'id'>;
}

/** A new point is on the screen within a second, also if points arrive all the time. */
const CHARTS_REFRESH_MS = 250;
const MAX_LINES_PER_REQUEST = 400;
const MAX_LINES_FIRST_REQUEST = 40;
const MAX_CHARTS_PER_REQUEST = 32;
/** Status of an error that is reported for one chart of a response. */
export const CHART_ERROR_STATUS = 200;

export const chartQuery = defineQuery('POST scalars/query', {
  scope: ({ view }: ScalarChartRequest) => ({ runs: view.runs }),
  minRefreshMs: CHARTS_REFRESH_MS,
  // Moving a slider or panning shows intermediate results.
  superseded: (previous, next) => (needsOtherPoints(previous.view, next.view) ? 'abort' : 'finish'),
  batch: {
    shared: ({ view, width }) => withWidth(view, width),
    item: ({ chart }) => chart,
    maxItems: ({ runCount }) => countCharts(MAX_LINES_PER_REQUEST, runCount),
    firstItems: ({ runCount }) => countCharts(MAX_LINES_FIRST_REQUEST, runCount),
    join: (requests) => {
      const [first] = requests as [ScalarChartRequest];
      const charts = requests.map(({ chart }, at) => ({ ...chart, id: String(at) }));
      return { ...withWidth(first.view, first.width), charts };
    },
    split: ({ charts }): (ChartRow | ServerError)[] =>
      charts.map((row) => (row.error ? new ServerError(row.error, CHART_ERROR_STATUS) : row)),
  },
});

type SizedView = ChartsView & { readonly width: number };

const sizedViews = new WeakMap<ChartsView, Map<number, SizedView>>();

/** Return the same object for the same view, so that its hundreds of run names are compared once. */
function withWidth(view: ChartsView, width: number): SizedView {
  const known = sizedViews.get(view) ?? new Map<number, SizedView>();
  sizedViews.set(view, known);
  const sized = known.get(width) ?? { ...view, width };
  known.set(width, sized);
  return sized;
}

function countCharts(maxLines: number, runCount: number): number {
  const charts = Math.floor(maxLines / Math.max(1, runCount));
  return Math.min(MAX_CHARTS_PER_REQUEST, Math.max(1, charts));
}

/** Whether two views differ in more than smoothing, which is what a slider changes. */
export function needsOtherPoints(one: ChartsView, other: ChartsView): boolean {
  if (one === other) return false;
  const describe = (view: ChartsView): string => JSON.stringify({ ...view, smoothing: null });
  return describe(one) !== describe(other);
}

/** The fields of a view that select and transform series. */
type SeriesView = Pick<ChartsView, 'runs' | 'x' | 'smoothing' | 'baseline'>;

/** The points of a tag nearest to a position, or its statistics over a range. */
export interface TagPositionRequest {
  readonly view: SeriesView & { readonly at: number };
  readonly tag: string;
}

export interface TagRangeRequest {
  readonly view: SeriesView & { readonly start: number; readonly stop: number };
  readonly tag: string;
}

const MAX_TAGS_PER_REQUEST = 100;

export const nearestPointsQuery = defineQuery('POST scalars/at', {
  scope: ({ view }: TagPositionRequest) => ({ runs: view.runs }),
  batch: {
    shared: ({ view }) => view,
    item: ({ tag }) => tag,
    maxItems: MAX_TAGS_PER_REQUEST,
    join: (requests) => joinTags(requests as readonly [TagPositionRequest]),
    split: ({ rows }, requests): (readonly NearestPointRow[])[] => splitTags(rows, requests),
  },
});

export const rangeStatsQuery = defineQuery('POST scalars/range', {
  scope: ({ view }: TagRangeRequest) => ({ runs: view.runs }),
  batch: {
    shared: ({ view }) => view,
    item: ({ tag }) => tag,
    maxItems: MAX_TAGS_PER_REQUEST,
    join: (requests) => joinTags(requests as readonly [TagRangeRequest]),
    split: ({ rows }, requests): (readonly RangeStatsRow[])[] => splitTags(rows, requests),
  },
});

function joinTags<View>(
  requests: readonly [{ readonly view: View; readonly tag: string }],
): View & { readonly tags: readonly string[] } {
  return { ...requests[0].view, tags: requests.map(({ tag }) => tag) };
}

function splitTags<Row extends { readonly tag: string }>(
  rows: readonly Row[],
  requests: readonly { readonly tag: string }[],
): (readonly Row[])[] {
  return requests.map(({ tag }) => rows.filter((row) => row.tag === tag));
}

/** The points nearest to the pointer, of the tags of one chart. */
export const hoverQuery = defineQuery('POST scalars/at', {
  scope: ({ runs = null }) => ({ runs }),
  select: ({ rows }) => rows,
  priority: 'high',
  maxCost: 50,
});

/** The captures of a profiler, which are marked on the charts of their runs. */
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

/** Widths are rounded up, so that resizing the page does not request at every pixel. */
const WIDTH_STEP_PX = 100;
/** Requested on either side of what is visible, so that lines reach the edges. */
const RANGE_MARGIN = 0.25;

/** The request for a chart `width` pixels wide of which a part is visible; null: all of it. */
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
  // As many columns as pixels are left for the visible part.
  return { view, runCount, width: Math.ceil(columns * (1 + 2 * RANGE_MARGIN)), chart };
}
