/** Metrics of slices as a table for a file. */
import type { PerformanceResponse } from '../../../api/schemas';
import type { ExportTable } from '../../../cards/export';
import { listAttributions, listSliceMetrics } from './slice-metrics';

/**
 * Return slices with their count, threshold, metrics and mean attributions with intervals; unknown
 * ones are empty.
 * `getThreshold` is null for models that have no thresholds.
 */
export function makeMetricsExport(
  data: PerformanceResponse,
  slices: readonly number[],
  getThreshold: ((slice: string) => number) | null,
): ExportTable {
  const metrics = [
    ...listSliceMetrics(data, getThreshold ?? (() => NaN)),
    ...listAttributions(data),
  ];
  const known = (value: number): number | null => (Number.isNaN(value) ? null : value);
  return {
    columns: [
      ...['slice', 'count', 'threshold'],
      ...metrics.flatMap(({ key }) => [key, `${key}_lower`, `${key}_upper`]),
    ],
    rows: slices.map((at) => {
      const name = data.slices[at] ?? '';
      return [
        name,
        Number(data.counts[at] ?? 0),
        getThreshold?.(name) ?? null,
        ...metrics.flatMap(({ getValue, getInterval }) => {
          const { low, high } = getInterval(at);
          return [known(getValue(at)), known(low), known(high)];
        }),
      ];
    }),
  };
}
