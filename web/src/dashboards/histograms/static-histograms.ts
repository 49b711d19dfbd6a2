import type { StaticHandlers } from '../../api/static/static-transport';
import type {
  HistogramAxis,
  HistogramChartRow,
  HistogramSeriesRow,
  HistogramsRequest,
} from '../../api/schemas';

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
