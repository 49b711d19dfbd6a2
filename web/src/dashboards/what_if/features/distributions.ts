/** Histograms of features as bars. */
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
