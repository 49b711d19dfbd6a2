import { ServerError } from '../../api/errors';
import { defineQuery } from '../../api/query-definition';
import type {
  HistogramAxis,
  HistogramChartRequest,
  HistogramChartRow,
  HistogramsRequest,
} from '../../api/schemas';

/** The fields of a request that all charts of a view share. */
export type HistogramsView = Required<Omit<HistogramsRequest, 'charts' | 'most_runs'>>;

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
/** A part shows all of its histograms, as far as a screen has room for them. */
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
      charts: requests.map(({ chart }, at) => ({ ...chart, id: String(at) })),
    }),
    split: ({ charts }) => charts.map((row) => (row.error ? new ServerError(row.error, 200) : row)),
  },
});

function makeShared({ view, maxRuns, chart }: HistogramRequest): Omit<HistogramsRequest, 'charts'> {
  const isPart = typeof chart.start === 'number';
  const most = isPart ? Math.max(view.most, MAX_STEPS_ZOOMED) : view.most;
  return { ...view, most, most_runs: maxRuns };
}

/** The buckets of one histogram as they were logged. */
export const bucketsQuery = defineQuery('GET histograms/buckets', {
  scope: 'immutable',
  priority: 'high',
});
