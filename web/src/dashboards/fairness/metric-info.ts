/** What each metric is called, what it means, and when it misleads. */
import * as m from '../../catalog/fairness';

export interface MetricInfo {
  readonly label: string;
  readonly formula: string;
  readonly meaning: string;
  readonly caution: string;
}

/** In the order in which metrics are listed. */
export const METRIC_INFO: Readonly<Record<string, MetricInfo>> = {
  accuracy: {
    label: m.metricAccuracy,
    formula: '(TP + TN) / N',
    meaning: m.meaningAccuracy,
    caution: m.cautionAccuracy,
  },
  balanced_accuracy: {
    label: m.metricBalancedAccuracy,
    formula: '(TPR + TNR) / 2',
    meaning: m.meaningBalancedAccuracy,
    caution: m.cautionLabels,
  },
  precision: {
    label: m.metricPrecision,
    formula: 'TP / (TP + FP)',
    meaning: m.meaningPrecision,
    caution: m.cautionBaseRate,
  },
  recall: {
    label: m.metricRecall,
    formula: 'TP / (TP + FN)',
    meaning: m.meaningTruePositiveRate,
    caution: m.cautionLabels,
  },
  f1: {
    label: m.metricF1,
    formula: '2 TP / (2 TP + FP + FN)',
    meaning: m.meaningF1,
    caution: m.cautionBaseRate,
  },
  auc: {
    label: m.metricAuc,
    formula: 'P(s⁺ > s⁻)',
    meaning: m.meaningAuc,
    caution: m.cautionNoThreshold,
  },
  true_positive_rate: {
    label: m.metricTruePositiveRate,
    formula: 'TP / (TP + FN)',
    meaning: m.meaningTruePositiveRate,
    caution: m.cautionLabels,
  },
  false_positive_rate: {
    label: m.metricFalsePositiveRate,
    formula: 'FP / (FP + TN)',
    meaning: m.meaningFalsePositiveRate,
    caution: m.cautionSmallRate,
  },
  true_negative_rate: {
    label: m.metricTrueNegativeRate,
    formula: 'TN / (TN + FP)',
    meaning: m.meaningFalsePositiveRate,
    caution: m.cautionLabels,
  },
  false_negative_rate: {
    label: m.metricFalseNegativeRate,
    formula: 'FN / (TP + FN)',
    meaning: m.meaningTruePositiveRate,
    caution: m.cautionSmallRate,
  },
  positive_rate: {
    label: m.metricPositiveRate,
    formula: '(TP + FP) / N',
    meaning: m.meaningPositiveRate,
    caution: m.cautionIgnoresLabels,
  },
  negative_rate: {
    label: m.metricNegativeRate,
    formula: '(TN + FN) / N',
    meaning: m.meaningPositiveRate,
    caution: m.cautionIgnoresLabels,
  },
  false_discovery_rate: {
    label: m.metricFalseDiscoveryRate,
    formula: 'FP / (TP + FP)',
    meaning: m.meaningPrecision,
    caution: m.cautionBaseRate,
  },
  false_omission_rate: {
    label: m.metricFalseOmissionRate,
    formula: 'FN / (TN + FN)',
    meaning: m.meaningFalseOmissionRate,
    caution: m.cautionBaseRate,
  },
  auc_precision_recall: {
    label: m.metricAucPrecisionRecall,
    formula: 'Σ (Rᵢ − Rᵢ₋₁) Pᵢ',
    meaning: m.meaningAucPrecisionRecall,
    caution: m.cautionBaseRate,
  },
  average_loss: {
    label: m.metricAverageLoss,
    formula: '−Σ log p(y) / N',
    meaning: m.meaningAverageLoss,
    caution: m.cautionNoThreshold,
  },
  brier_score: {
    label: m.metricBrierScore,
    formula: 'Σ (s − y)² / N',
    meaning: m.meaningBrierScore,
    caution: m.cautionBaseRate,
  },
  calibration: {
    label: m.metricCalibration,
    formula: 'Σ s / Σ y',
    meaning: m.meaningCalibration,
    caution: m.cautionCalibration,
  },
  label_mean: {
    label: m.metricLabelMean,
    formula: 'Σ y / N',
    meaning: m.meaningLabelMean,
    caution: m.cautionData,
  },
  prediction_mean: {
    label: m.metricPredictionMean,
    formula: 'Σ s / N',
    meaning: m.meaningPredictionMean,
    caution: m.cautionIgnoresLabels,
  },
  flip_rate: {
    label: m.metricFlipRate,
    formula: 'Σ [d ≠ d′] / N',
    meaning: m.meaningFlipRate,
    caution: m.cautionCounterfactual,
  },
  lift: {
    label: m.metricLift,
    formula: 's̄ − s̄ₓ',
    meaning: m.meaningLift,
    caution: m.cautionLift,
  },
  mean_error: {
    label: m.metricMeanError,
    formula: 'Σ (s − y) / N',
    meaning: m.meaningMeanError,
    caution: m.cautionCancels,
  },
  mean_absolute_error: {
    label: m.metricMeanAbsoluteError,
    formula: 'Σ |s − y| / N',
    meaning: m.meaningError,
    caution: m.cautionScale,
  },
  mean_squared_error: {
    label: m.metricMeanSquaredError,
    formula: 'Σ (s − y)² / N',
    meaning: m.meaningError,
    caution: m.cautionScale,
  },
  root_mean_squared_error: {
    label: m.metricRootMeanSquaredError,
    formula: '√(Σ (s − y)² / N)',
    meaning: m.meaningError,
    caution: m.cautionScale,
  },
  r2: {
    label: m.metricR2,
    formula: '1 − Σ (s − y)² / Σ (y − ȳ)²',
    meaning: m.meaningR2,
    caution: m.cautionScale,
  },
  example_count: {
    label: m.metricExampleCount,
    formula: 'N',
    meaning: m.meaningExampleCount,
    caution: m.cautionData,
  },
  weighted_example_count: {
    label: m.metricWeightedExampleCount,
    formula: 'Σ w',
    meaning: m.meaningExampleCount,
    caution: m.cautionData,
  },
};

/** Names of Keras and TensorFlow Model Analysis for metrics above; also in `metrics.py`. */
const ALIASES: Readonly<Record<string, string>> = {
  binary_accuracy: 'accuracy',
  categorical_accuracy: 'accuracy',
  sparse_categorical_accuracy: 'accuracy',
  loss: 'average_loss',
  binary_cross_entropy: 'average_loss',
  binary_crossentropy: 'average_loss',
  categorical_cross_entropy: 'average_loss',
  categorical_crossentropy: 'average_loss',
  sparse_categorical_crossentropy: 'average_loss',
  f1_score: 'f1',
  fall_out: 'false_positive_rate',
  mean_label: 'label_mean',
  mean_prediction: 'prediction_mean',
  miss_rate: 'false_negative_rate',
  specificity: 'true_negative_rate',
};

export interface MetricName {
  /** The standard name, or the name as it is. */
  readonly base: string;
  /** Whether it is the change to the baseline model. */
  readonly isChange: boolean;
  /** Whether it is the same metric without example weights. */
  readonly isUnweighted: boolean;
}

/** Split a name of TensorFlow Model Analysis, such as `loss (unweighted)_diff`. */
export function parseMetricName(metric: string): MetricName {
  const isChange = metric.endsWith('_diff');
  const name = isChange ? metric.slice(0, -'_diff'.length) : metric;
  const isUnweighted = name.endsWith(' (unweighted)');
  const base = isUnweighted ? name.slice(0, -' (unweighted)'.length) : name;
  return { base: ALIASES[base] ?? base, isChange, isUnweighted };
}

/** Return what is known about a metric, also by its name in Keras. */
export function findMetricInfo(metric: string): MetricInfo | undefined {
  return METRIC_INFO[parseMetricName(metric).base];
}

/** Return the label of a metric; its name if it is not a standard one. */
export function getMetricLabel(metric: string): string {
  const { base, isChange, isUnweighted } = parseMetricName(metric);
  const label = METRIC_INFO[base]?.label ?? base;
  const full = isUnweighted ? m.metricUnweighted({ metric: label }) : label;
  return isChange ? m.metricChange({ metric: full }) : full;
}

/** Return whether a metric counts rows, so that slices of different sizes are not comparable. */
export function isCountMetric(metric: string): boolean {
  return /(^|_)(count|positives|negatives)$/.test(parseMetricName(metric).base);
}
