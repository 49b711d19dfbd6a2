/** Queries of the Histograms and Distributions dashboards. */
import { defineQuery } from '../../api/query-definition';
import type {
  HistogramAxis,
  HistogramChartRequest,
  HistogramChartRow,
  HistogramSeriesRow,
  HistogramsRequest,
} from '../../api/schemas';
import type { StaticHandlers } from '../../api/static/static-transport';
import { joinCharts, splitCharts } from '../../cards/card-sections';

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

/** Answer requests from the charts of a static export: one per tag, with all runs and most bins. */
export const histogramHandlers: StaticHandlers = {
  'POST histograms/query': async (request, contents) => {
    const charts = request.charts.map(async ({ id, tag, offset = 0 }) => {
      const path = `api/v1/histograms/charts/${encodeURIComponent(tag)}`;
      const chart = (await contents.read(path)) as HistogramChartRow;
      return { ...selectSeries(chart, request, offset), id };
    });
    return { cursor: '', charts: await Promise.all(charts) };
  },
};

function selectSeries(
  chart: HistogramChartRow,
  { runs = null, bins = 0, max_runs: maxRuns = 1, x = 'step' }: HistogramsRequest,
  skip: number,
): HistogramChartRow {
  const selected = runs && new Set(runs);
  const available = chart.series.filter(({ run }) => selected?.has(run) ?? true);
  const { grid, merge } = mergeBins(chart.grid, bins);
  const series = available
    .slice(skip, skip + maxRuns)
    .map((one) => ({ ...one, x: getAxisValues(one, x), bins: one.bins && merge(one.bins) }));
  return { ...chart, runs: available.length, grid, series };
}

/** Return the positions of histograms on an axis. */
export function getAxisValues(
  { step, wall_time: wall }: HistogramSeriesRow,
  axis: HistogramAxis,
): Float64Array {
  if (axis === 'step') return step;
  if (axis === 'wall') return wall;
  const first = wall.find(Number.isFinite) ?? NaN;
  return wall.map((time) => time - first);
}

/** Merge neighboring bins if fewer are requested. */
export function mergeBins(
  grid: Float64Array | null,
  binCount: number,
): {
  grid: Float64Array | null;
  merge: (bins: Float32Array | Float64Array) => Float32Array | Float64Array;
} {
  const factor = grid && binCount > 0 ? Math.floor((grid.length - 1) / binCount) : 1;
  if (!grid || factor < 2) return { grid, merge: (bins) => bins };
  return {
    grid: grid.filter((_, index) => index % factor === 0),
    merge(bins) {
      const merged = new Float64Array(bins.length / factor);
      bins.forEach((count, index) => {
        const target = Math.floor(index / factor);
        merged[target] = (merged[target] ?? 0) + count;
      });
      return merged;
    },
  };
}
