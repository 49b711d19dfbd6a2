import type { ChartsRequest } from '../schemas';
import type { ExportedSeries } from './series-view';

/** Series and asks for tests. */

export function makeSeries(
  run: string,
  value: readonly number[],
  more: Partial<ExportedSeries> = {},
): ExportedSeries {
  return {
    run,
    points: value.length,
    overwritten: 0,
    odd: 0,
    step: Float64Array.from(value, (_, at) => 10 * at),
    wall_time: Float64Array.from(value, (_, at) => 1000 + at),
    value: Float64Array.from(value),
    index: null,
    ...more,
  };
}

export function makeChartsRequest(more: Partial<ChartsRequest> = {}): Required<ChartsRequest> {
  return {
    runs: null,
    x: 'step',
    smoothing: null,
    overwritten: false,
    baseline: null,
    groups: null,
    center: 'mean',
    band: 'std',
    width: 100,
    charts: [{ id: 'a', tags: ['loss'], start: null, stop: null }],
    ...more,
  };
}
