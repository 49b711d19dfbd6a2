/** Choices and numbers of an evaluation, without a view. */
import type { EvaluationRow, PlotRow, ResultResponse } from '../../api/schemas';
import * as m from '../../catalog/fairness';
import { sortNatural } from '../../lib/arrays';
import { isCountMetric, METRIC_INFO, parseMetricName } from './metric-info';

/** Slices with fewer rows are marked; the same limit as in the Markdown report. */
export const SMALL_SLICE_ROWS = 100;
export const OVERALL = 'Overall';
export const MAX_CHART_SLICES = 40;
const DEFAULT_SLICES = 9;
const DEFAULT_METRICS = ['true_positive_rate', 'false_positive_rate', 'positive_rate'];
const MAX_DEFAULT_METRICS = 3;

export interface Interval {
  readonly value: number;
  readonly lower: number;
  readonly upper: number;
}

/** Return the name of a slice on the page; names of columns and values are those of the data. */
export function getSliceLabel(name: string): string {
  return name === OVERALL ? m.overall : name;
}

/** Return a value of a result with its interval. */
export function getCell(result: ResultResponse, slice: number, column: number): Interval {
  const at = slice * result.columns.length + column;
  return {
    value: result.value[at] ?? NaN,
    lower: result.lower[at] ?? NaN,
    upper: result.upper[at] ?? NaN,
  };
}

/** Return the column of a result that has the metric of a column of another result; -1 if none. */
export function findSameColumn(
  result: ResultResponse,
  column: number,
  { columns }: ResultResponse,
): number {
  const wanted = columns[column];
  return result.columns.findIndex(
    ({ metric, threshold, output }) =>
      metric === wanted?.metric && threshold === wanted.threshold && output === wanted.output,
  );
}

/** Return the metrics of a result: known ones in the order of the guidance, then the others. */
export function listMetrics({ columns }: ResultResponse): string[] {
  const found = new Set(columns.map(({ metric }) => metric));
  const order = new Map(Object.keys(METRIC_INFO).map((name, at) => [name, at]));
  const getRank = (name: string): number => {
    const { base, isChange } = parseMetricName(name);
    return (order.get(base) ?? order.size) + (isChange ? order.size + 1 : 0);
  };
  return sortNatural([...found], (name) => name).sort((a, b) => getRank(a) - getRank(b));
}

export function listThresholds({ columns }: ResultResponse): number[] {
  const found = columns.flatMap(({ threshold }) => (threshold === null ? [] : [threshold]));
  return [...new Set(found)].sort((one, other) => one - other);
}

/** Return the classes and averages of a multi-class model. */
export function listOutputs({ columns }: ResultResponse): string[] {
  return [...new Set(columns.flatMap(({ output }) => (output === null ? [] : [output])))];
}

export function getDefaultMetrics(result: ResultResponse): string[] {
  const all = listMetrics(result);
  const wanted = DEFAULT_METRICS.filter((name) => all.includes(name));
  if (wanted.length > 0) return wanted;
  const isRate = (name: string): boolean => {
    const { isChange, isUnweighted } = parseMetricName(name);
    return !isChange && !isUnweighted && !isCountMetric(name);
  };
  const rates = all.filter(isRate);
  return (rates.length > 0 ? rates : all).slice(0, MAX_DEFAULT_METRICS);
}

/** Return 0.5 if there is such a threshold, else the middle one. */
export function getDefaultThreshold(thresholds: readonly number[]): number | undefined {
  return thresholds.includes(0.5) ? 0.5 : thresholds[(thresholds.length - 1) >> 1];
}

export function getDefaultBaseline({ slices }: ResultResponse): string {
  return slices.includes(OVERALL) ? OVERALL : (slices[0] ?? OVERALL);
}

/** Return the baseline and the largest slices, in the order of the result. */
export function getDefaultSlices(result: ResultResponse, baseline: string): string[] {
  const { slices, counts } = result;
  if (slices.length <= 2 * DEFAULT_SLICES) return [...slices];
  const order = slices.map((_, at) => at).sort((a, b) => (counts[b] ?? 0) - (counts[a] ?? 0));
  const chosen = new Set(order.slice(0, DEFAULT_SLICES));
  return slices.filter((name, at) => chosen.has(at) || name === baseline);
}

export interface ColumnChoice {
  readonly metrics: readonly string[];
  readonly thresholds: readonly number[];
  readonly outputs: readonly string[];
}

/** Return the positions of the chosen columns, metric by metric, thresholds ascending. */
export function selectColumns(
  { columns }: ResultResponse,
  { metrics, thresholds, outputs }: ColumnChoice,
): number[] {
  const isChosen = (at: number): boolean => {
    const { threshold, output } = columns[at] ?? { threshold: null, output: null };
    return (
      (threshold === null || thresholds.includes(threshold)) &&
      (output === null || outputs.includes(output))
    );
  };
  return metrics.flatMap((metric) =>
    columns
      .flatMap((column, at) => (column.metric === metric && isChosen(at) ? [at] : []))
      .sort((a, b) => (columns[a]?.threshold ?? 0) - (columns[b]?.threshold ?? 0)),
  );
}

export type Judgment = 'better' | 'worse' | 'neutral';

/** Return whether a difference is good for the slice. */
export function judgeDifference(direction: string, difference: number): Judgment {
  if (direction === 'neutral' || !(Math.abs(difference) > 0)) return 'neutral';
  return difference > 0 === (direction === 'higher') ? 'better' : 'worse';
}

export interface HistogramBucket {
  readonly low: number;
  readonly high: number;
  readonly slices: number;
}

/** Count slices by a value, in buckets of equal width. */
export function makeSliceHistogram(values: readonly number[], count: number): HistogramBucket[] {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return [];
  const low = finite.reduce((a, b) => Math.min(a, b));
  const high = finite.reduce((a, b) => Math.max(a, b));
  if (low === high) return [{ low, high, slices: finite.length }];
  const width = (high - low) / count;
  const sums = new Array<number>(count).fill(0);
  for (const value of finite) {
    const at = Math.min(count - 1, Math.floor((value - low) / width));
    sums[at] = (sums[at] ?? 0) + 1;
  }
  return sums.map((slices, at) => ({
    low: low + at * width,
    high: at === count - 1 ? high : low + (at + 1) * width,
    slices,
  }));
}

export interface BinaryConfusion {
  readonly truePositive: number;
  readonly falsePositive: number;
  readonly trueNegative: number;
  readonly falseNegative: number;
}

/** Return the confusion matrix of a binary output; a score above the threshold is positive. */
export function computeConfusion(plot: PlotRow, threshold: number): BinaryConfusion {
  const at = plot.roc_threshold.findIndex((one) => one <= threshold);
  const last = plot.roc_threshold.length - 1;
  const positives = sum(plot.positive);
  const negatives = sum(plot.negative);
  const row = at < 0 ? last : at;
  const truePositive = positives * (plot.true_positive_rate[row] ?? 0) || 0;
  const falsePositive = negatives * (plot.false_positive_rate[row] ?? 0) || 0;
  return {
    truePositive,
    falsePositive,
    trueNegative: negatives - falsePositive,
    falseNegative: positives - truePositive,
  };
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Group evaluations by run and tag, the last step first. */
export function sortEvaluations(rows: readonly EvaluationRow[]): EvaluationRow[] {
  const byName = sortNatural(rows, ({ run, tag }) => `${run}\n${tag}`);
  return byName
    .map((row, at) => ({ row, at }))
    .sort((one, other) => {
      const isSame = one.row.run === other.row.run && one.row.tag === other.row.tag;
      return isSame ? (other.row.step ?? 0) - (one.row.step ?? 0) : one.at - other.at;
    })
    .map(({ row }) => row);
}
