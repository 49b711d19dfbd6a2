import type { ChartAnswer, SeriesAnswer, SpreadAxis, ViewAsk } from '../../../api/histograms';
import type { Api } from '../../../plugin/context';
import type { Want } from './wants';

/** The chart of a tag as a copy of a board carries it, made into what a server would answer. */
export async function readCopy(
  api: Api,
  view: ViewAsk,
  { tag, runs, skip }: Want,
  id: string,
): Promise<ChartAnswer> {
  const carried = await api.get<ChartAnswer>(`charts/${encodeURIComponent(tag)}`);
  const wanted = view.runs && new Set(view.runs);
  const having = carried.series.filter(({ run }) => wanted?.has(run) ?? true);
  const { grid, merge } = coarsen(carried.grid, view.bins);
  const series = having
    .slice(skip, skip + runs)
    .map((one) => ({ ...one, x: placesOf(one, view.x), bins: one.bins && merge(one.bins) }));
  return { ...carried, id, runs: having.length, grid, series };
}

/** Where histograms stand on an axis. */
export function placesOf({ step, wall_time: wall }: SeriesAnswer, axis: SpreadAxis): Float64Array {
  if (axis === 'step') return step;
  if (axis === 'wall') return wall;
  const first = wall.find(Number.isFinite) ?? NaN;
  return wall.map((time) => time - first);
}

/** Several neighbouring bins as one, where so many fewer are wanted. */
export function coarsen(
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
