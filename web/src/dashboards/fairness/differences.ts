/**
 * Differences between slices: corrections for multiple comparisons and the ranking of gaps, as the
 * server computes them, and the rows that tables and lists show.
 */
import type {
  ColumnRow,
  CorrectionName,
  DifferenceRequest,
  DifferenceResponse,
  GapRow,
  ResultResponse,
} from '../../api/schemas';
import * as m from '../../catalog/fairness';
import { formatValue } from '../../lib/format';
import { getCell, type Interval, judgeDifference, type Judgment } from './evaluation-model';

const DEFAULT_MAX_GAPS = 50;
/** Counts differ between slices without any meaning. */
const COUNT_METRIC = /(^|_)(example_count|count)$/;

/** Return adjusted p-values; NaN stays NaN and is not counted. */
export function adjustPValues(values: Float64Array, correction: CorrectionName): Float64Array {
  const known = [...values.keys()].filter((at) => !Number.isNaN(values[at] ?? NaN));
  const adjusted = Float64Array.from(values);
  const count = known.length;
  if (correction === 'none' || count === 0) return adjusted;
  if (correction === 'bonferroni') return adjusted.map((value) => Math.min(1, value * count));
  known.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  if (correction === 'holm') {
    let highest = 0;
    known.forEach((at, rank) => {
      highest = Math.max(highest, (count - rank) * (values[at] ?? 0));
      adjusted[at] = Math.min(1, highest);
    });
  } else {
    let lowest = 1;
    for (let rank = count - 1; rank >= 0; rank--) {
      const at = known[rank] ?? 0;
      lowest = Math.min(lowest, ((values[at] ?? 1) * count) / (rank + 1));
      adjusted[at] = lowest;
    }
  }
  return adjusted;
}

export interface GapOptions {
  readonly isBaseline: (slice: number) => boolean;
  /** Adjusted p-values below it are significant. */
  readonly level: number;
  readonly limit?: number | undefined;
}

/** Return the adjusted p-value below which a difference is significant. */
export function getSignificanceLevel({ confidence }: ResultResponse): number {
  return 1 - confidence;
}

/** Return the largest differences, significant ones first. */
export function rankGaps(
  difference: Float64Array,
  adjusted: Float64Array,
  metrics: readonly string[],
  { isBaseline, level, limit = DEFAULT_MAX_GAPS }: GapOptions,
): GapRow[] {
  const gaps: GapRow[] = [];
  difference.forEach((value, at) => {
    const [slice, column] = [Math.floor(at / metrics.length), at % metrics.length];
    if (Number.isNaN(value) || isBaseline(slice)) return;
    if (COUNT_METRIC.test(metrics[column] ?? '')) return;
    const significant = (adjusted[at] ?? NaN) < level;
    gaps.push({ slice, column, difference: value, significant });
  });
  const rank = (gap: GapRow): number => (gap.significant ? 1 : 0);
  gaps.sort((a, b) => rank(b) - rank(a) || Math.abs(b.difference) - Math.abs(a.difference));
  return gaps.slice(0, limit);
}

/** Select columns of differences of all columns, and correct for the comparisons that remain. */
export function selectDifferences(
  all: DifferenceResponse,
  result: ResultResponse,
  { columns, correction = 'holm', baseline, max_gaps }: DifferenceRequest,
): DifferenceResponse {
  const chosen = columns ?? result.columns.map((_, at) => at);
  const width = all.columns.length;
  const select = (values: Float64Array): Float64Array =>
    Float64Array.from({ length: all.slices.length * chosen.length }, (_, at) => {
      const column = chosen[at % chosen.length] ?? 0;
      return values[Math.floor(at / chosen.length) * width + column] ?? NaN;
    });
  const p_value = select(all.p_value);
  const adjusted_p_value = adjustPValues(p_value, correction);
  const difference = select(all.difference);
  const metrics = chosen.map((at) => result.columns[at]?.metric ?? '');
  const isBaseline = (slice: number): boolean => all.slices[slice] === baseline;
  return {
    slices: all.slices,
    columns: chosen,
    baseline_value: select(all.baseline_value),
    difference,
    lower: select(all.lower),
    upper: select(all.upper),
    relative: select(all.relative),
    relative_lower: select(all.relative_lower),
    relative_upper: select(all.relative_upper),
    p_value,
    adjusted_p_value,
    comparisons: p_value.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : 1), 0),
    gaps: rankGaps(difference, adjusted_p_value, metrics, {
      isBaseline,
      level: getSignificanceLevel(result),
      limit: max_gaps,
    }),
  };
}

export interface DifferenceRow {
  readonly slice: string;
  readonly sliceAt: number;
  /** Position in the result. */
  readonly columnAt: number;
  readonly column: ColumnRow;
  readonly count: number;
  readonly cell: Interval;
  readonly baseline: number;
  readonly difference: Interval;
  readonly relative: Interval;
  readonly adjustedPValue: number;
  readonly judgment: Judgment;
}

/** Return the row of a slice and of a column by its position in the difference. */
export function makeDifferenceRow(
  result: ResultResponse,
  differences: DifferenceResponse,
  sliceAt: number,
  position: number,
): DifferenceRow | null {
  const columnAt = differences.columns[position] ?? -1;
  const column = result.columns[columnAt];
  const slice = result.slices[sliceAt];
  if (!column || slice === undefined) return null;
  const at = sliceAt * differences.columns.length + position;
  const pick = (value: Float64Array, lower: Float64Array, upper: Float64Array): Interval => ({
    value: value[at] ?? NaN,
    lower: lower[at] ?? NaN,
    upper: upper[at] ?? NaN,
  });
  const difference = pick(differences.difference, differences.lower, differences.upper);
  return {
    slice,
    sliceAt,
    columnAt,
    column,
    count: result.counts[sliceAt] ?? 0,
    cell: getCell(result, sliceAt, columnAt),
    baseline: differences.baseline_value[at] ?? NaN,
    difference,
    relative: pick(differences.relative, differences.relative_lower, differences.relative_upper),
    adjustedPValue: differences.adjusted_p_value[at] ?? NaN,
    judgment: judgeDifference(column.direction, difference.value),
  };
}

/** Return the rows of some slices, column by column. */
export function makeDifferenceRows(
  result: ResultResponse,
  differences: DifferenceResponse,
  slices: readonly number[],
): DifferenceRow[] {
  return differences.columns.flatMap((_, position) =>
    slices.flatMap((slice) => makeDifferenceRow(result, differences, slice, position) ?? []),
  );
}

export function formatInterval({ value, lower, upper }: Interval): string {
  if (Number.isNaN(lower) || Number.isNaN(upper)) return formatValue(value, 3);
  return m.valueWithInterval({
    value: formatValue(value, 3),
    lower: formatValue(lower, 3),
    upper: formatValue(upper, 3),
  });
}

/** A signed difference with its interval. */
export function formatDifference({ value, lower, upper }: Interval): string {
  if (Number.isNaN(lower) || Number.isNaN(upper)) return formatSigned(value);
  return m.valueWithInterval({
    value: formatSigned(value),
    lower: formatSigned(lower),
    upper: formatSigned(upper),
  });
}

export function formatRelative({ value, lower, upper }: Interval): string {
  if (Number.isNaN(lower) || Number.isNaN(upper)) return formatPercent(value);
  return m.valueWithInterval({
    value: formatPercent(value),
    lower: formatPercent(lower),
    upper: formatPercent(upper),
  });
}

export function formatSigned(value: number): string {
  return value > 0 ? `+${formatValue(value, 3)}` : formatValue(value, 3);
}

export function formatPercent(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const percent = 100 * value;
  return `${formatSigned(Number(percent.toFixed(Math.abs(percent) < 10 ? 1 : 0)))} %`;
}

export function formatPValue(value: number): string {
  if (Number.isNaN(value)) return '–';
  return value < 0.001 ? '< 0.001' : formatValue(Number(value.toFixed(3)));
}

export const JUDGMENT_LABELS: Readonly<Record<Judgment, string>> = {
  better: m.judgmentBetter,
  worse: m.judgmentWorse,
  neutral: m.judgmentNeutral,
};
