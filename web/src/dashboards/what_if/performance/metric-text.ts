/** Metrics as text: their names, and values with 95 % intervals or why there is none. */
import type { Measure, MetricValues, PerformanceResponse } from '../../../api/schemas';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/what_if';
import { formatValue } from '../../../lib/format';
import type { Interval } from './threshold-intervals';

const NAMES: Readonly<Record<string, string>> = {
  accuracy: m.metricAccuracy,
  auc: m.metricAuc,
  auc_precision_recall: m.metricAucPrecisionRecall,
  average_loss: m.metricAverageLoss,
  calibration: m.metricCalibration,
  f1: m.metricF1,
  false_discovery_rate: m.metricFalseDiscoveryRate,
  false_negative_rate: m.metricFalseNegativeRate,
  false_omission_rate: m.metricFalseOmissionRate,
  false_positive_rate: m.metricFalsePositiveRate,
  label_mean: m.metricLabelMean,
  mean_absolute_error: m.metricMeanAbsoluteError,
  mean_error: m.metricMeanError,
  mean_squared_error: m.metricMeanSquaredError,
  median_absolute_error: m.metricMedianAbsoluteError,
  median_error: m.metricMedianError,
  median_squared_error: m.metricMedianSquaredError,
  negative_rate: m.metricNegativeRate,
  positive_rate: m.metricPositiveRate,
  precision: m.metricPrecision,
  prediction_mean: m.metricPredictionMean,
  r2: m.metricR2,
  recall: m.metricRecall,
  root_mean_squared_error: m.metricRootMeanSquaredError,
  true_negative_rate: m.metricTrueNegativeRate,
  true_positive_rate: m.metricTruePositiveRate,
};

export const MEASURE_LABELS: Readonly<Record<Measure, string>> = {
  positive_rate: m.metricPositiveRate,
  true_positive_rate: m.metricTruePositiveRate,
  false_positive_rate: m.metricFalsePositiveRate,
  accuracy: m.metricAccuracy,
  precision: m.metricPrecision,
};

const AVERAGES: Readonly<Record<string, string>> = {
  micro: m.averageMicro,
  macro: m.averageMacro,
  weighted: m.averageWeighted,
};

export function getMetricName(
  metric: Pick<MetricValues, 'metric' | 'threshold' | 'class_name'>,
): string {
  const name = NAMES[metric.metric] ?? metric.metric;
  const threshold = metric.threshold === null ? null : formatValue(metric.threshold);
  const output =
    metric.class_name === null ? null : (AVERAGES[metric.class_name] ?? metric.class_name);
  if (threshold !== null && output !== null)
    return m.metricAtThresholdOfOutput({ metric: name, threshold, output });
  if (threshold !== null) return m.metricAtThreshold({ metric: name, threshold });
  return output === null ? name : m.metricOfOutput({ metric: name, output });
}

/** Return the metrics to list: no counts, and of several classes only those of the best class. */
export function listMetrics({ metrics }: PerformanceResponse): MetricValues[] {
  return metrics.filter(
    ({ metric, threshold, class_name: name }) =>
      metric in NAMES && (threshold === null || name === null),
  );
}

// ---- intervals

const DIGITS = 3;

/** Whether an interval is known; samples that are all equal say nothing about the variation. */
export function hasInterval({ low, high }: Interval): boolean {
  return !Number.isNaN(low) && low < high;
}

export function formatWithInterval(
  value: number,
  interval: Interval,
  format: (value: number) => string = (one) => formatValue(one, DIGITS),
): string {
  if (Number.isNaN(value)) return common.noValueSign;
  if (!hasInterval(interval)) return m.withoutInterval({ value: format(value) });
  const { low, high } = interval;
  return m.withInterval({ value: format(value), low: format(low), high: format(high) });
}

/** Return the bounds alone, beside a value. */
export function formatBounds(interval: Interval): string {
  if (!hasInterval(interval)) return '';
  const [low, high] = [formatValue(interval.low, DIGITS), formatValue(interval.high, DIGITS)];
  return m.shortInterval({ low, high });
}

/** Return the interval as a sentence, or the reason why there is none. */
export function describeInterval(value: number, interval: Interval): string {
  const { low, high } = interval;
  if (Number.isNaN(value)) return m.valueUndefined;
  if (hasInterval(interval))
    return m.intervalIs({ low: formatValue(low), high: formatValue(high) });
  return Number.isNaN(low) ? m.intervalUndefined : m.intervalConstant;
}
