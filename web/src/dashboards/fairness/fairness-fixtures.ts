/** Results for tests. */
import type { ColumnRow, DifferenceResponse, PlotRow, ResultResponse } from '../../api/schemas';

export function makeColumn(metric: string, threshold: number | null = null): ColumnRow {
  return { metric, threshold, output: null, direction: 'higher' };
}

/** Return a result with one row of values for each slice; intervals are ± 0.1. */
export function makeTestResult(
  slices: Readonly<Record<string, readonly number[]>>,
  columns: readonly ColumnRow[],
  more: Partial<ResultResponse> = {},
): ResultResponse {
  const value = Float64Array.from(Object.values(slices).flat());
  return {
    id: 'a',
    model: '',
    models: [{ name: '', is_baseline: false }],
    task: 'binary',
    slices: Object.keys(slices),
    keys: Object.keys(slices).map((name) => [['sex', name] as const]),
    counts: Float64Array.from(Object.keys(slices), (_, at) => 1000 - 100 * at),
    columns,
    value,
    lower: value.map((one) => one - 0.1),
    upper: value.map((one) => one + 0.1),
    method: 'jackknife',
    samples: 20,
    confidence: 0.95,
    has_replicates: true,
    replicates: null,
    plot_slices: new Float64Array(),
    outputs: [],
    warnings: [],
    omitted: [],
    problems: [],
    validation: null,
    attributions: [],
    columns_used: {},
    ...more,
  };
}

/** Scores 0.2 (negative), 0.4 (positive), 0.6 (negative) and 0.8 (positive), once each. */
export function makeTestPlot(more: Partial<PlotRow> = {}): PlotRow {
  return {
    slice: 0,
    output: '',
    roc_threshold: Float64Array.of(0.8, 0.6, 0.4, 0.2, -Infinity),
    false_positive_rate: Float64Array.of(0, 0, 0.5, 0.5, 1),
    true_positive_rate: Float64Array.of(0, 0.5, 0.5, 1, 1),
    pr_threshold: Float64Array.of(0.6, 0.2),
    precision: Float64Array.of(1, 2 / 3),
    recall: Float64Array.of(0.5, 1),
    calibration_edges: Float64Array.of(0, 0.5, 1),
    mean_score: Float64Array.of(0.3, NaN),
    positive_share: Float64Array.of(0.5, NaN),
    calibration_weight: Float64Array.of(2, 0),
    distribution_edges: Float64Array.of(0, 0.5, 1),
    negative: Float64Array.of(1, 1),
    positive: Float64Array.of(1, 1),
    ...more,
  };
}

/** Return differences to a slice, without intervals. */
export function makeTestDifferences(result: ResultResponse, baseline: number): DifferenceResponse {
  const width = result.columns.length;
  const unknown = new Float64Array(result.value.length).fill(NaN);
  const baseline_value = result.value.map(
    (_, at) => result.value[baseline * width + (at % width)] ?? NaN,
  );
  const difference = result.value.map((value, at) => value - (baseline_value[at] ?? NaN));
  return {
    slices: result.slices,
    columns: result.columns.map((_, at) => at),
    baseline_value,
    difference,
    lower: unknown,
    upper: unknown,
    relative: difference.map((value, at) => value / (baseline_value[at] ?? NaN)),
    relative_lower: unknown,
    relative_upper: unknown,
    p_value: unknown,
    adjusted_p_value: unknown,
    comparisons: 0,
    gaps: [],
  };
}
