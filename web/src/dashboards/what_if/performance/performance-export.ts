/** Metrics of slices as a table for a file. */
import type { PerformanceResponse } from '../../../api/schemas';
import type { ExportTable } from '../../../cards/export';
import { listMetrics } from './metric-names';

/** Return slices with their count, threshold and metrics with intervals; unknown ones are empty. */
export function makeMetricsExport(
  data: PerformanceResponse,
  slices: readonly number[],
  getThreshold: (slice: string) => number | null,
): ExportTable {
  const metrics = listMetrics(data);
  // As `MetricColumn.label` of the Python API.
  const names = metrics.map(({ metric, threshold, class_name: output }) =>
    [metric, output === null ? '' : `[${output}]`, threshold === null ? '' : `@${threshold}`].join(
      '',
    ),
  );
  const known = (value: number | undefined): number | null =>
    value === undefined || Number.isNaN(value) ? null : value;
  return {
    columns: [
      ...['slice', 'count', 'threshold'],
      ...names.flatMap((name) => [name, `${name}_lower`, `${name}_upper`]),
    ],
    rows: slices.map((at) => {
      const name = data.slices[at] ?? '';
      return [
        name,
        Number(data.counts[at] ?? 0),
        getThreshold(name),
        ...metrics.flatMap(({ value, lower, upper }) => [
          known(value[at]),
          known(lower[at]),
          known(upper[at]),
        ]),
      ];
    }),
  };
}
