/** Distributions of features: bars, differences between data sets, and filters by type. */
import type { OtherStatistics, StatisticsRow, ValueType } from '../../../api/schemas';
import { formatValue } from '../../../lib/format';

/** Return the names of bins by their edges; the last one includes its end. */
export function makeBinLabels(edges: ArrayLike<number>): string[] {
  return Array.from({ length: Math.max(0, edges.length - 1) }, (_, at) => {
    const [low, high] = [edges[at] ?? NaN, edges[at + 1] ?? NaN];
    const end = at === edges.length - 2 ? ']' : ')';
    return `[${formatValue(low)}, ${formatValue(high)}${end}`;
  });
}

/** Return counts, or shares of all, and their logarithm if wanted; empty bins stay 0. */
export function scaleCounts(counts: readonly number[], isShare: boolean, isLog: boolean): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0) || 1;
  return counts.map((count) => {
    const value = isShare ? (100 * count) / total : count;
    return isLog ? Math.log10(1 + value) : value;
  });
}

/** Return the share of values up to the end of each bin, in percent. */
export function accumulate(counts: readonly number[]): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0) || 1;
  let sum = 0;
  return counts.map((count) => (100 * (sum += count)) / total);
}

/** Return the names of bins of whole numbers, such as `3` or `3 – 5`. */
export function makeLengthLabels(edges: ArrayLike<number>): string[] {
  return Array.from({ length: Math.max(0, edges.length - 1) }, (_, at) => {
    const [low, high] = [edges[at] ?? NaN, (edges[at + 1] ?? NaN) - 1];
    return low === high ? String(low) : `${low} – ${high}`;
  });
}

export type Drift = keyof Pick<
  OtherStatistics,
  'jensen_shannon' | 'population_stability' | 'chi_square' | 'kolmogorov_smirnov'
>;

/** Return the largest difference to any of the other data sets; null without one. */
export function getLargestDrift({ others }: StatisticsRow, drift: Drift): number | null {
  const values = others.map((other) => other[drift]).filter((value) => !Number.isNaN(value));
  return values.length > 0 ? Math.max(...values) : null;
}

/** How many values a row has. */
export const SHAPES = ['single', 'fixed', 'variable'] as const;
export type Shape = (typeof SHAPES)[number];

type Typed = Pick<StatisticsRow, 'type' | 'is_list' | 'list_length'>;

export function getShape({ is_list: isList, list_length: length }: Typed): Shape {
  if (!isList) return 'single';
  return length === null ? 'variable' : 'fixed';
}

/** Return the types and the shapes among features, of which there is a choice. */
export function listKinds(rows: readonly Typed[]): (ValueType | Shape)[] {
  const types = [...new Set(rows.map(({ type }) => type))].sort();
  const shapes = SHAPES.filter((shape) => rows.some((row) => getShape(row) === shape));
  return [...(types.length > 1 ? types : []), ...(shapes.length > 1 ? shapes : [])];
}

/** Return whether a feature has one of the chosen types and shapes; without any of these, all. */
export function matchesKinds(row: Typed, kinds: readonly string[]): boolean {
  const shapes = kinds.filter((kind) => SHAPES.some((shape) => shape === kind));
  const types = kinds.filter((kind) => !shapes.includes(kind));
  return (
    (types.length === 0 || types.includes(row.type)) &&
    (shapes.length === 0 || shapes.includes(getShape(row)))
  );
}
