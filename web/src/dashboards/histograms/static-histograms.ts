import type { StaticHandlers } from '../../api/static/static-transport';
import type {
  HistogramAxis,
  HistogramChartRow,
  HistogramSeriesRow,
  HistogramsRequest,
} from '../../api/schemas';

/** Charts from those in a static export, which has one with all runs and the most bins per tag. */
export const histogramHandlers: StaticHandlers = {
  'POST histograms/query': async (request, contents) => {
    const charts = request.charts.map(async ({ id, tag, skip = 0 }) => {
      const path = `api/v1/histograms/charts/${encodeURIComponent(tag)}`;
      const chart = (await contents.read(path)) as HistogramChartRow;
      return { ...selectSeries(chart, request, skip), id };
    });
    return { cursor: '', charts: await Promise.all(charts) };
  },
};

function selectSeries(
  chart: HistogramChartRow,
  { runs = null, bins = 0, most_runs: maxRuns = 1, x = 'step' }: HistogramsRequest,
  skip: number,
): HistogramChartRow {
  const wanted = runs && new Set(runs);
  const having = chart.series.filter(({ run }) => wanted?.has(run) ?? true);
  const { grid, merge } = mergeBins(chart.grid, bins);
  const series = having
    .slice(skip, skip + maxRuns)
    .map((one) => ({ ...one, x: getAxisValues(one, x), bins: one.bins && merge(one.bins) }));
  return { ...chart, runs: having.length, grid, series };
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

/** Merge neighboring bins if only a fraction of them is wanted. */
export function mergeBins(
  grid: Float64Array | null,
  wanted: number,
): {
  grid: Float64Array | null;
  merge: (bins: Float32Array | Float64Array) => Float32Array | Float64Array;
} {
  const factor = grid && wanted > 0 ? Math.floor((grid.length - 1) / wanted) : 1;
  if (!grid || factor < 2) return { grid, merge: (bins) => bins };
  return {
    grid: grid.filter((_, at) => at % factor === 0),
    merge(bins) {
      const merged = new Float64Array(bins.length / factor);
      bins.forEach((count, at) => {
        const into = Math.floor(at / factor);
        merged[into] = (merged[into] ?? 0) + count;
      });
      return merged;
    },
  };
}
