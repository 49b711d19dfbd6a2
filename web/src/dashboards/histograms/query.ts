/** Queries of the Histograms and Distributions dashboards. */
import { defineQuery, joinCharts, splitCharts } from '../../api/query-definition';
import type {
  HistogramAxis,
  HistogramChartRequest,
  HistogramChartRow,
  HistogramsRequest,
} from '../../api/schemas';

/** The fields of a request that all charts of a view share. */
export type HistogramsView = Required<Omit<HistogramsRequest, 'charts' | 'max_runs'>>;

/** One chart of at most `maxRuns` runs. */
export interface HistogramRequest {
  readonly view: HistogramsView;
  readonly maxRuns: number;
  readonly chart: Omit<HistogramChartRequest, 'id'>;
}

export interface HistogramResult {
  readonly row: HistogramChartRow;
  /** The axis of the steps, which may differ from the selected one until the next response. */
  readonly axis: HistogramAxis;
}

const FIRST_BATCH_SIZE = 2;
const BATCH_SIZE = 4;
const MAX_CACHED_CHARTS = 120;
/** A zoomed chart shows all histograms of the range, up to this limit. */
const MAX_STEPS_ZOOMED = 600;

export const histogramQuery = defineQuery('POST histograms/query', {
  scope: ({ view }: HistogramRequest) => ({ runs: view.runs }),
  minRefreshMs: 250,
  maxCost: MAX_CACHED_CHARTS,
  select: (row: HistogramChartRow, { view }): HistogramResult => ({ row, axis: view.x }),
  batch: {
    shared: makeShared,
    item: ({ chart }) => chart,
    maxItems: BATCH_SIZE,
    firstItems: FIRST_BATCH_SIZE,
    join: (requests) => ({
      ...makeShared(requests[0] as HistogramRequest),
      charts: joinCharts(requests),
    }),
    split: splitCharts,
  },
});

function makeShared({ view, maxRuns, chart }: HistogramRequest): Omit<HistogramsRequest, 'charts'> {
  const isZoomed = typeof chart.start === 'number';
  const maxPoints = isZoomed ? Math.max(view.max_points, MAX_STEPS_ZOOMED) : view.max_points;
  return { ...view, max_points: maxPoints, max_runs: maxRuns };
}

/** The logged buckets of one histogram. */
export const bucketsQuery = defineQuery('GET histograms/buckets', {
  scope: 'immutable',
  priority: 'high',
});
