import type { BucketsResponse, HistogramSeriesRow } from '../../api/schemas';
import { parseJsonNumber } from '../../api/decode';
import { formatCount, formatInteger, formatValue } from '../../lib/format';
import { getBinIndex } from '../../charts/histogram/histogram-interaction';
import { PERCENTILES } from '../../charts/histogram/histogram-model';

/** One line of what is said at the pointer. */
export interface TooltipRow {
  readonly name: string;
  readonly value: string;
  readonly extra?: string;
  readonly tone?: 'strong' | 'odd';
}

/** The bucket under the pointer as logged, or before that is known the bin that is drawn. */
export function makeBucketRow(
  series: HistogramSeriesRow,
  at: number,
  grid: Float64Array | null,
  value: number | null,
  exact: BucketsResponse | undefined,
): TooltipRow | null {
  if (value === null) return null;
  const total = series.counted[at] ?? 0;
  if (exact) {
    const bucket = findBucketIndex(exact, value);
    if (bucket < 0) return { name: formatValue(value), value: 'no bucket', tone: 'strong' };
    const [left, right] = [exact.left[bucket] ?? NaN, exact.right[bucket] ?? NaN];
    const name = formatBucket(left, right, bucket === exact.left.length - 1);
    return { name, ...formatBucketCount(exact.counts[bucket] ?? 0, total), tone: 'strong' };
  }
  if (!grid || grid.length < 2 || !series.bins) return null;
  const bin = getBinIndex(grid, value);
  const { value: count, extra } = formatBucketCount(
    series.bins[at * (grid.length - 1) + bin] ?? 0,
    total,
  );
  const name = formatBucket(grid[bin] ?? NaN, grid[bin + 1] ?? NaN, false);
  return { name, value: `≈ ${count}`, extra, tone: 'strong' };
}

/** The bucket that holds a value; of several the one that counted most. */
export function findBucketIndex({ left, right, counts }: BucketsResponse, value: number): number {
  let found = -1;
  for (let at = 0; at < left.length; at++) {
    const [from, to] = [left[at] ?? NaN, right[at] ?? NaN];
    const isIn =
      value >= from && (value < to || (value === to && (from === to || at === left.length - 1)));
    if (isIn && (found < 0 || (counts[at] ?? 0) > (counts[found] ?? 0))) found = at;
  }
  return found < 0 ? findZeroWidthBucket({ left, right, counts }, value) : found;
}

/** All numbers were the same: their bucket has no width that a pointer could be in. */
function findZeroWidthBucket(
  { left, right, counts }: Pick<BucketsResponse, 'left' | 'right' | 'counts'>,
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

function formatBucketCount(count: number, total: number): { value: string; extra: string } {
  const whole = Number.isInteger(count) ? formatInteger(count) : formatValue(count);
  return { value: whole, extra: total > 0 ? formatPercent(count / total) : '' };
}

function formatPercent(share: number): string {
  const percent = share * 100;
  return `${percent >= 10 ? percent.toFixed(1) : Number(percent.toPrecision(2))} %`;
}

/** All numbers of a histogram together. */
export function makeTotalRows(
  series: HistogramSeriesRow,
  at: number,
  exact: BucketsResponse | undefined,
): TooltipRow[] {
  const counted = series.counted[at] ?? 0;
  const reach = `${formatValue(series.low[at] ?? NaN)} … ${formatValue(series.high[at] ?? NaN)}`;
  return [
    { name: 'all', value: formatCount(counted), extra: counted > 0 ? reach : 'empty' },
    ...makeMeanRows(exact),
    ...makeIssueRows(series, at),
  ];
}

function makeMeanRows(exact: BucketsResponse | undefined): TooltipRow[] {
  if (!exact?.totals) return [];
  const [num, sum, squares] = [exact.totals.num, exact.totals.sum, exact.totals.sum_squares].map(
    parseJsonNumber,
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

function makeIssueRows(series: HistogramSeriesRow, at: number): TooltipRow[] {
  const odd = (name: string, count: number | undefined): TooltipRow[] =>
    count && count > 0 ? [{ name, value: formatInteger(count), tone: 'odd' }] : [];
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
export function makePercentileRows(series: HistogramSeriesRow, at: number): TooltipRow[] {
  const rows = PERCENTILES.map((share, number): TooltipRow => {
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
