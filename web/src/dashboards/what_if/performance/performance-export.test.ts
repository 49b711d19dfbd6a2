import { expect, test } from 'vitest';

import type { PerformanceResponse } from '../../../api/schemas';
import { toCsv } from '../../../cards/export';
import { makeMetricsExport } from './performance-export';

test('slices are exported with thresholds and intervals', () => {
  const metric = { value: Float64Array.of(0.5, NaN), lower: Float64Array.of(0.25, NaN) };
  const response = {
    slices: ['Overall', 'sex:f'],
    counts: [8, 4],
    metrics: [
      {
        ...metric,
        ...{
          metric: 'recall',
          threshold: 0.5,
          class_name: null,
          upper: Float64Array.of(0.75, NaN),
        },
      },
      {
        ...metric,
        metric: 'example_count',
        threshold: null,
        class_name: null,
        upper: metric.value,
      },
    ],
  } as unknown as PerformanceResponse;
  const table = makeMetricsExport(response, [0, 1], (slice) => (slice === 'sex:f' ? 0.3 : null));
  expect(toCsv(table)).toBe(
    'slice,count,threshold,recall@0.5,recall@0.5_lower,recall@0.5_upper\n' +
      'Overall,8,,0.5,0.25,0.75\n' +
      'sex:f,4,0.3,,,\n',
  );
});
