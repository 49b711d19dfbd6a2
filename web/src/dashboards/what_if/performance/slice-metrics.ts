/** The metrics of slices with 95 % intervals. Those at a threshold follow the thresholds of the page. */
import type { MetricValues, PerformanceResponse } from '../../../api/schemas';
import * as m from '../../../catalog/what_if';
import { formatValue } from '../../../lib/format';
import { getMetricName, listMetrics } from './metric-names';
import { computeIntervals, type Interval, type Rate } from './threshold-intervals';
import { computeMetrics, getConfusion } from './threshold-metrics';

export interface SliceMetric {
  /** As `MetricColumn.label` of the Python API. */
  readonly key: string;
  readonly title: string;
  readonly getValue: (slice: number) => number;
  /** NaN if there is none. */
  readonly getInterval: (slice: number) => Interval;
}

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

/** Return the metrics to list, for models with two classes at the threshold of each slice. */
export function listSliceMetrics(
  data: PerformanceResponse,
  getThreshold: (slice: string) => number,
): SliceMetric[] {
  const isBinary = data.thresholds.length > 0;
  const metrics = listMetrics(data).map((metric): SliceMetric => {
    const rate = isBinary && metric.threshold !== null ? RATES[metric.metric] : undefined;
    return rate ? makeRate(metric.metric, rate) : makeServerMetric(metric);
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
      getInterval: (slice) => computeIntervals(getConfusion(data, slice, threshold(slice)))[rate],
    };
  }
}

function makeServerMetric(metric: MetricValues): SliceMetric {
  const { value, lower, upper, threshold, class_name: output } = metric;
  const parts = [output === null ? '' : `[${output}]`, threshold === null ? '' : `@${threshold}`];
  return {
    key: [metric.metric, ...parts].join(''),
    title: getMetricName(metric),
    getValue: (slice) => value[slice] ?? NaN,
    getInterval: (slice) => ({ low: lower[slice] ?? NaN, high: upper[slice] ?? NaN }),
  };
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
  const [value, low, high] = [metric?.value, metric?.lower, metric?.upper].map(
    (values) => values?.[slice] ?? NaN,
  ) as [number, number, number];
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
