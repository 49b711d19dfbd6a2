/** The Pareto front of several objectives, and empirical distributions of one. */
import { getCategoryLabel, type Objective, type TrialColumn } from './trials';

/**
 * Return the trials among `rows` that no other trial dominates: none is at least as good in all
 * objectives and better in one. Trials without a finite value of each objective are left out. Equal
 * trials do not dominate each other. The result is in order of the first objective, the best first.
 */
export function findParetoFront(objectives: readonly Objective[], rows: Int32Array): Int32Array {
  if (objectives.length === 0) return new Int32Array();
  // Lower is better in all of these.
  const costs = objectives.map(({ column, minimize }) =>
    minimize ? column.values : column.values.map((value) => -value),
  );
  const candidates = rows.filter((row) => costs.every((cost) => Number.isFinite(cost[row])));
  // A trial can only be dominated by one that comes before it in this order.
  candidates.sort((a, b) => {
    for (const cost of costs) {
      const order = (cost[a] ?? 0) - (cost[b] ?? 0);
      if (order !== 0) return order;
    }
    return a - b;
  });
  const front: number[] = [];
  for (const row of candidates)
    if (!front.some((other) => dominates(costs, other, row))) front.push(row);
  return Int32Array.from(front);
}

function dominates(costs: readonly Float64Array[], one: number, other: number): boolean {
  let isBetter = false;
  for (const cost of costs) {
    const difference = (cost[one] ?? 0) - (cost[other] ?? 0);
    if (difference > 0) return false;
    if (difference < 0) isBetter = true;
  }
  return isBetter;
}

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
