import type { BucketsAnswer, SeriesAnswer } from '../../../api/histograms';
import { readNumber } from '../../../api/numbers';
import { formatCount, formatExact, formatValue } from '../../../base/format';
import { binAt } from '../../../charts/spread/find';
import { SHARES } from '../../../charts/spread/types';

/** One line of what is said at the pointer. */
export interface Row {
  readonly name: string;
  readonly value: string;
  readonly extra?: string;
  readonly tone?: 'strong' | 'odd';
}

/** The bucket under the pointer as logged, or before that is known the bin that is drawn. */
export function bucketRow(
  series: SeriesAnswer,
  at: number,
  grid: Float64Array | null,
  value: number | null,
  exact: BucketsAnswer | undefined,
): Row | null {
  if (value === null) return null;
  const total = series.counted[at] ?? 0;
  if (exact) {
    const bucket = findBucket(exact, value);
    if (bucket < 0) return { name: formatValue(value), value: 'no bucket', tone: 'strong' };
    const [left, right] = [exact.left[bucket] ?? NaN, exact.right[bucket] ?? NaN];
    const name = formatBucket(left, right, bucket === exact.left.length - 1);
    return { name, ...countOf(exact.counts[bucket] ?? 0, total), tone: 'strong' };
  }
  if (!grid || grid.length < 2 || !series.bins) return null;
  const bin = binAt(grid, value);
  const { value: count, extra } = countOf(series.bins[at * (grid.length - 1) + bin] ?? 0, total);
  const name = formatBucket(grid[bin] ?? NaN, grid[bin + 1] ?? NaN, false);
  return { name, value: `≈ ${count}`, extra, tone: 'strong' };
}

/** The bucket that holds a value; of several the one that counted most. */
export function findBucket({ left, right, counts }: BucketsAnswer, value: number): number {
  let found = -1;
  for (let at = 0; at < left.length; at++) {
    const [from, to] = [left[at] ?? NaN, right[at] ?? NaN];
    const isIn =
      value >= from && (value < to || (value === to && (from === to || at === left.length - 1)));
    if (isIn && (found < 0 || (counts[at] ?? 0) > (counts[found] ?? 0))) found = at;
  }
  return found < 0 ? findWidthless({ left, right, counts }, value) : found;
}

/** All numbers were the same: their bucket has no width that a pointer could be in. */
function findWidthless(
  { left, right, counts }: Pick<BucketsAnswer, 'left' | 'right' | 'counts'>,
  value: number,
): number {
  const filled = [...left.keys()].filter((at) => (counts[at] ?? 0) > 0);
  const [only] = filled;
  if (filled.length !== 1 || only === undefined || left[only] !== right[only]) return -1;
  const near = Math.abs(value - (left[only] ?? 0)) <= Math.max(0.5, Math.abs(value) / 10);
  return near ? only : -1;
}

export function formatBucket(left: number, right: number, isLast: boolean): string {
  if (left === right) return `exactly ${formatValue(left)}`;
  return `[${formatValue(left)}, ${formatValue(right)}${isLast ? ']' : ')'}`;
}

function countOf(count: number, total: number): { value: string; extra: string } {
  const whole = Number.isInteger(count) ? formatExact(count) : formatValue(count);
  return { value: whole, extra: total > 0 ? formatShare(count / total) : '' };
}

function formatShare(share: number): string {
  const percent = share * 100;
  return `${percent >= 10 ? percent.toFixed(1) : Number(percent.toPrecision(2))} %`;
}

/** All numbers of a histogram together. */
export function totalRows(
  series: SeriesAnswer,
  at: number,
  exact: BucketsAnswer | undefined,
): Row[] {
  const counted = series.counted[at] ?? 0;
  const reach = `${formatValue(series.low[at] ?? NaN)} … ${formatValue(series.high[at] ?? NaN)}`;
  return [
    { name: 'all', value: formatCount(counted), extra: counted > 0 ? reach : 'empty' },
    ...meanRows(exact),
    ...oddRows(series, at),
  ];
}

function meanRows(exact: BucketsAnswer | undefined): Row[] {
  if (!exact?.totals) return [];
  const [num, sum, squares] = [exact.totals.num, exact.totals.sum, exact.totals.sum_squares].map(
    readNumber,
  );
  if (
    !num ||
    num < 1 ||
    sum === null ||
    squares === null ||
    sum === undefined ||
    squares === undefined
  )
    return [];
  const mean = sum / num;
  const deviation = Math.sqrt(Math.max(0, squares / num - mean * mean));
  if (!Number.isFinite(mean)) return [];
  return [{ name: 'mean ± std', value: formatValue(mean), extra: `± ${formatValue(deviation)}` }];
}

function oddRows(series: SeriesAnswer, at: number): Row[] {
  const odd = (name: string, count: number | undefined): Row[] =>
    count && count > 0 ? [{ name, value: formatExact(count), tone: 'odd' }] : [];
  const [num, counted] = [series.num[at] ?? NaN, series.counted[at] ?? 0];
  const differs = Number.isFinite(num) && Math.abs(num - counted) > 1e-6 * Math.max(1, num);
  return [
    ...odd('NaN', series.nan[at]),
    ...odd('+∞', series.positive_infinity[at]),
    ...odd('−∞', series.negative_infinity[at]),
    ...odd('in buckets without an end', series.unplaced[at]),
    ...(series.spoiled[at]
      ? [{ name: 'edges are NaN', value: 'spoiled by NaN or ∞', tone: 'odd' as const }]
      : []),
    ...(differs
      ? [{ name: 'its writer says', value: formatCount(num), tone: 'odd' as const }]
      : []),
  ];
}

/** The nine values, the largest on top as in the chart. */
export function nineRows(series: SeriesAnswer, at: number): Row[] {
  const rows = SHARES.map((share, number): Row => {
    const value = series.percentiles?.[9 * at + number] ?? NaN;
    const name =
      share === 0 ? 'min' : share === 100 ? 'max' : share === 50 ? 'median' : `${share} %`;
    return {
      name,
      value: Number.isNaN(value) ? '–' : formatValue(value),
      ...(share === 50 ? { tone: 'strong' as const } : {}),
    };
  });
  return rows.reverse();
}
