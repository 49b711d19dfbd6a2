/** Corrections for multiple comparisons and the ranking of gaps, as the server computes them. */
import type {
  CorrectionName,
  DifferenceRequest,
  DifferenceResponse,
  GapRow,
  ResultResponse,
} from '../../api/schemas';

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
