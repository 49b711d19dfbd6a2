/** Empirical distributions of a metric. */
import { getCategoryLabel, type TrialColumn } from './trials';

export interface Distribution {
  /** The value of the column that trials are split by; null if they are not. */
  readonly label: string | null;
  /** Finite values in ascending order. */
  readonly values: Float64Array;
  /** For each value, the share of trials with at most this value. */
  readonly shares: Float64Array;
  readonly median: number;
}

/** Columns with more values have no line for each. */
const MAX_SPLIT_VALUES = 12;

/** Return the columns that trials can be split by: the study, and hyperparameters with few values. */
export function listSplitColumns(columns: readonly TrialColumn[]): TrialColumn[] {
  return columns.filter(
    ({ kind, categories, varies, key }) =>
      varies &&
      categories !== null &&
      categories.length <= MAX_SPLIT_VALUES &&
      (kind === 'hparam' || key === 'study' || key === 'status'),
  );
}

/** Return the distribution of a column, one for each value of `split`; without empty ones. */
export function computeDistributions(
  { values }: TrialColumn,
  split: TrialColumn | null,
  rows: Int32Array,
): Distribution[] {
  const finite = rows.filter((row) => Number.isFinite(values[row]));
  if (!split?.categories) return finite.length > 0 ? [makeDistribution(null, values, finite)] : [];
  return split.categories.flatMap((_, category) => {
    const own = finite.filter((row) => split.values[row] === category);
    return own.length > 0 ? [makeDistribution(getCategoryLabel(split, category), values, own)] : [];
  });
}

function makeDistribution(
  label: string | null,
  values: Float64Array,
  rows: Int32Array,
): Distribution {
  const sorted = Float64Array.from(rows, (row) => values[row] ?? NaN).sort();
  const { length } = sorted;
  const [low, high] = [(length - 1) >> 1, length >> 1];
  return {
    label,
    values: sorted,
    shares: sorted.map((_, index) => (index + 1) / length),
    median: ((sorted[low] ?? NaN) + (sorted[high] ?? NaN)) / 2,
  };
}
