/** Series and requests for tests. */
import type { ExportedSeries, ChartsRequest } from '../schemas';

export function makeSeries(
  run: string,
  value: readonly number[],
  fields: Partial<ExportedSeries> = {},
): ExportedSeries {
  return {
    run,
    points: value.length,
    overwritten: 0,
    nonfinite_count: 0,
    step: Float64Array.from(value, (_, index) => 10 * index),
    wall_time: Float64Array.from(value, (_, index) => 1000 + index),
    value: Float64Array.from(value),
    index: null,
    ...fields,
  };
}

export function makeChartsRequest(fields: Partial<ChartsRequest> = {}): Required<ChartsRequest> {
  return {
    runs: null,
    x: 'step',
    smoothing: null,
    overwritten: false,
    baseline: null,
    groups: null,
    center: 'mean',
    band: 'std',
    min_runs: 1,
    width: 100,
    charts: [{ id: 'a', tags: ['loss'], start: null, stop: null }],
    ...fields,
  };
}
