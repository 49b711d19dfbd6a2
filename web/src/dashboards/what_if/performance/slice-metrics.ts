/**
 * The metrics of slices as text and as table, with 95 % intervals or why there is none. Those at a
 * threshold follow the thresholds of the page.
 */
import type { Measure, MetricValues, PerformanceResponse, Task } from '../../../api/schemas';
import type { ExportTable } from '../../../cards/export';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/what_if';
import type { TableColumn } from '../../../components/data-table';
import { formatValue } from '../../../lib/format';
import { getOwn } from '../feature-values';
import { computeInterval, type Interval } from './threshold-intervals';
import { computeMetrics, getConfusion, type Rate } from './threshold-metrics';

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

function getMetricName(metric: Pick<MetricValues, 'metric' | 'threshold' | 'class_name'>): string {
  const name = getOwn(NAMES, metric.metric) ?? metric.metric;
  const threshold = metric.threshold === null ? null : formatValue(metric.threshold);
  const output =
    metric.class_name === null ? null : (getOwn(AVERAGES, metric.class_name) ?? metric.class_name);
  if (threshold !== null && output !== null)
    return m.metricAtThresholdOfOutput({ metric: name, threshold, output });
  if (threshold !== null) return m.metricAtThreshold({ metric: name, threshold });
  return output === null ? name : m.metricOfOutput({ metric: name, output });
}

/** Return the metrics to list: no counts, and of several classes only those of the best class. */
function listMetrics({ metrics }: PerformanceResponse): MetricValues[] {
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

export interface SliceMetric {
  /** As `MetricColumn.label` of the Python API. */
  readonly key: string;
  readonly title: string;
  readonly getValue: (slice: number) => number;
  /** NaN if there is none. */
  readonly getInterval: (slice: number) => Interval;
}

const NO_INTERVAL: Interval = { low: NaN, high: NaN };

/** Metrics of the server that the confusion counts determine. */
const RATES: Readonly<Record<string, Rate>> = {
  accuracy: 'accuracy',
  f1: 'f1',
  false_discovery_rate: 'falseDiscoveryRate',
  false_negative_rate: 'falseNegativeRate',
  false_omission_rate: 'falseOmissionRate',
  false_positive_rate: 'falsePositiveRate',
  negative_rate: 'negativeRate',
  positive_rate: 'positiveRate',
  precision: 'precision',
  recall: 'recall',
  true_negative_rate: 'trueNegativeRate',
  true_positive_rate: 'recall',
};

/** Return the column of the names of slices. The server orders them by value, and bins by their bounds. */
export function makeSliceColumn(width: number): TableColumn<{ readonly at: number }> {
  return { key: 'slice', title: m.slice, width, isText: true, value: ({ at }) => at };
}

/** Return the metrics to list, for models with two classes at the threshold of each slice. */
export function listSliceMetrics(
  data: PerformanceResponse,
  getThreshold: (slice: string) => number,
): SliceMetric[] {
  const isBinary = data.thresholds.length > 0;
  const metrics = listMetrics(data).map((metric): SliceMetric => {
    const rate = isBinary && metric.threshold !== null ? RATES[metric.metric] : undefined;
    return rate ? makeRate(metric.metric, rate) : makeServerMetric(metric, data.task);
  });
  if (isBinary && !metrics.some(({ key }) => key === 'f1'))
    metrics.splice(1, 0, makeRate('f1', 'f1'));
  return metrics;

  function makeRate(name: string, rate: Rate): SliceMetric {
    const threshold = (slice: number) => getThreshold(data.slices[slice] ?? '');
    return {
      key: name,
      title: getMetricName({ metric: name, threshold: null, class_name: null }),
      getValue: (slice) => computeMetrics(data, slice, threshold(slice))[rate],
      getInterval: (slice) => computeInterval(getConfusion(data, slice, threshold(slice)), rate),
    };
  }
}

export function makeMetricKey({
  metric,
  threshold,
  class_name: output,
}: Pick<MetricValues, 'metric' | 'threshold' | 'class_name'>): string {
  const parts = [output === null ? '' : `[${output}]`, threshold === null ? '' : `@${threshold}`];
  return [metric, ...parts].join('');
}

/** Return the interval of a metric, without values that it cannot have. */
function getServerInterval(metric: MetricValues, slice: number, task: Task): Interval {
  const [low, high] = [metric.lower[slice] ?? NaN, metric.upper[slice] ?? NaN];
  if (SIZES.test(metric.metric)) return { low: Math.max(0, low), high };
  if (task === 'regression') return { low, high };
  return { low: Math.max(0, low), high: Math.min(1, high) };
}

/** Metrics that are at least 0; those of classifiers that are not among them are shares. */
const SIZES = /absolute_error|squared_error|loss|calibration/;

function makeServerMetric(metric: MetricValues, task: Task): SliceMetric {
  const { value } = metric;
  return {
    key: makeMetricKey(metric),
    title: getMetricName(metric),
    getValue: (slice) => value[slice] ?? NaN,
    getInterval: (slice) => getServerInterval(metric, slice, task),
  };
}

/** Return the mean attributions of features, the largest ones in any slice first. */
export function listAttributions({
  attributions,
  attribution_lower: lower,
  attribution_upper: upper,
}: PerformanceResponse): SliceMetric[] {
  const size = (name: string): number =>
    Math.max(0, ...Array.from(getOwn(attributions, name) ?? [], Math.abs).filter(Number.isFinite));
  return Object.keys(attributions)
    .sort((one, other) => size(other) - size(one))
    .map((name) => ({
      key: `attribution:${name}`,
      title: name,
      getValue: (slice) => getOwn(attributions, name)?.[slice] ?? NaN,
      getInterval: (slice) => ({
        low: getOwn(lower, name)?.[slice] ?? NaN,
        high: getOwn(upper, name)?.[slice] ?? NaN,
      }),
    }));
}

/** Return the area below a curve with its interval, as the server has computed it. */
export function formatArea(
  data: PerformanceResponse,
  slice: number,
  kind: 'roc' | 'pr',
  model: string,
  fallback: number,
  output: string | null = null,
): string {
  const name = kind === 'roc' ? 'auc' : 'auc_precision_recall';
  const metric = data.metrics.find(
    (one) => one.metric === name && one.class_name === output && one.threshold === null,
  );
  const value = metric?.value[slice] ?? NaN;
  const { low, high } = metric ? getServerInterval(metric, slice, data.task) : NO_INTERVAL;
  if (Number.isNaN(low)) {
    const area = formatValue(Number.isNaN(value) ? fallback : value, 3);
    return m.modelWithArea({ model, area });
  }
  const texts = {
    area: formatValue(value, 3),
    low: formatValue(low, 3),
    high: formatValue(high, 3),
  };
  return m.modelWithAreaInterval({ model, ...texts });
}

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

/** The slices of a model to export; `getThreshold` is as for `makeMetricsExport`. */
export interface ExportedModel {
  readonly name: string;
  readonly data: PerformanceResponse;
  readonly slices: readonly number[];
  readonly getThreshold: ((slice: string) => number) | null;
}

/** Return the metrics of one model, or those of several below each other with the model's name. */
export function makeModelsExport(models: readonly ExportedModel[]): ExportTable {
  const tables = models.map(({ name, data, slices, getThreshold }) => ({
    name,
    table: makeMetricsExport(data, slices, getThreshold),
  }));
  const [first] = tables;
  if (!first) return { columns: [], rows: [] };
  if (tables.length === 1) return first.table;
  const columns = [...new Set(tables.flatMap(({ table }) => table.columns))];
  return {
    columns: ['model', ...columns],
    rows: tables.flatMap(({ name, table }) => {
      const places = columns.map((column) => table.columns.indexOf(column));
      return table.rows.map((row) => [name, ...places.map((at) => row[at] ?? null)]);
    }),
  };
}
