import { expect, test } from 'vitest';

import { getDefaultMetrics, listMetrics } from './evaluation-model';
import { makeColumn, makeTestResult } from './fairness-fixtures';
import { findMetricInfo, getMetricLabel, isCountMetric, parseMetricName } from './metric-info';

test('metrics have their names in Keras and TFMA as well', () => {
  expect(getMetricLabel('binary_accuracy')).toBe('Accuracy');
  expect(getMetricLabel('loss (unweighted)_diff')).toBe(
    'Average loss (unweighted) (change to baseline model)',
  );
  expect(getMetricLabel('my_metric')).toBe('my_metric');
  expect(findMetricInfo('binary_accuracy')).toBe(findMetricInfo('accuracy'));
  expect(parseMetricName('accuracy')).toEqual({
    base: 'accuracy',
    isChange: false,
    isUnweighted: false,
  });
});

test('counts are recognized', () => {
  const names = ['example_count', 'true_positives', 'example_count_diff', 'loss'];
  expect(names.map(isCountMetric)).toEqual([true, true, true, false]);
});

test('changes to the baseline model come last and are not shown by default', () => {
  const columns = ['loss_diff', 'loss', 'example_count', 'binary_accuracy'];
  const result = makeTestResult(
    {},
    columns.map((name) => makeColumn(name)),
  );
  expect(listMetrics(result)).toEqual(['binary_accuracy', 'loss', 'example_count', 'loss_diff']);
  expect(getDefaultMetrics(result)).toEqual(['binary_accuracy', 'loss']);
});
