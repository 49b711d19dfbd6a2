/** The rows of the tooltip of a histogram. */
import type { BucketsResponse, HistogramSeriesRow } from '../../api/schemas';
import { parseJsonNumber } from '../../api/transport';
import { formatCount, formatInteger, formatValue } from '../../lib/format';
import { getBinIndex } from '../../charts/histogram/histogram-interaction';
import { PERCENTILES } from '../../charts/histogram/histogram-model';
import * as common from '../../catalog/common';
import * as m from '../../catalog/histograms';

export interface TooltipRow {
  readonly name: string;
  readonly value: string;
  readonly extra?: string;
  readonly tone?: 'strong' | 'warning';
}

/** Return the logged bucket under the pointer or, until it is loaded, the drawn bin. */
export function makeBucketRow(
  series: HistogramSeriesRow,
  index: number,
  grid: Float64Array | null,
  value: number | null,
  exact: BucketsResponse | undefined,
): TooltipRow | null {
  if (value === null) return null;
  const total = series.bucket_sum[index] ?? 0;
  if (exact) {
    const bucket = findBucketIndex(exact, value);
    if (bucket < 0) return { name: formatValue(value), value: m.tooltipNoBucket, tone: 'strong' };
    const [left, right] = [exact.left[bucket] ?? NaN, exact.right[bucket] ?? NaN];
    const name = formatBucket(left, right, bucket === exact.left.length - 1);
    return { name, ...formatBucketCount(exact.counts[bucket] ?? 0, total), tone: 'strong' };
  }
  if (!grid || grid.length < 2 || !series.bins) return null;
  const bin = getBinIndex(grid, value);
  const { value: count, extra } = formatBucketCount(
    series.bins[index * (grid.length - 1) + bin] ?? 0,
    total,
  );
  const name = formatBucket(grid[bin] ?? NaN, grid[bin + 1] ?? NaN, false);
  return { name, value: m.tooltipApproximate({ count }), extra, tone: 'strong' };
}

/** Return the bucket that contains a value; of several, the one with the largest count. */
export function findBucketIndex({ left, right, counts }: BucketsResponse, value: number): number {
  let found = -1;
  for (let index = 0; index < left.length; index++) {
    const [from, to] = [left[index] ?? NaN, right[index] ?? NaN];
    const isLast = index === left.length - 1;
    const isIn = value >= from && (value < to || (value === to && (from === to || isLast)));
    if (isIn && (found < 0 || (counts[index] ?? 0) > (counts[found] ?? 0))) found = index;
  }
  return found < 0 ? findZeroWidthBucket({ left, right, counts }, value) : found;
}

/** If all values are equal, their bucket has no width: find it near the pointer. */
function findZeroWidthBucket(
  { left, right, counts }: Pick<BucketsResponse, 'left' | 'right' | 'counts'>,
  value: number,
): number {
  const filled = [...left.keys()].filter((index) => (counts[index] ?? 0) > 0);
  const [only] = filled;
  if (filled.length !== 1 || only === undefined || left[only] !== right[only]) return -1;
  const isNear = Math.abs(value - (left[only] ?? 0)) <= Math.max(0.5, Math.abs(value) / 10);
  return isNear ? only : -1;
}

export function formatBucket(left: number, right: number, isLast: boolean): string {
  if (left === right) return m.tooltipExactValue({ value: formatValue(left) });
  return `[${formatValue(left)}, ${formatValue(right)}${isLast ? ']' : ')'}`;
}

function formatBucketCount(count: number, total: number): { value: string; extra: string } {
  const value = Number.isInteger(count) ? formatInteger(count) : formatValue(count);
  return { value, extra: total > 0 ? formatPercent(count / total) : '' };
}

function formatPercent(share: number): string {
  const percent = share * 100;
  return common.percent({
    value: percent >= 10 ? percent.toFixed(1) : String(Number(percent.toPrecision(2))),
  });
}

/** Return the count, range and mean of a histogram, and its issues. */
export function makeTotalRows(
  series: HistogramSeriesRow,
  index: number,
  exact: BucketsResponse | undefined,
): TooltipRow[] {
  const counted = series.bucket_sum[index] ?? 0;
  const range = common.range({
    min: formatValue(series.low[index] ?? NaN),
    max: formatValue(series.high[index] ?? NaN),
  });
  return [
    {
      name: m.tooltipTotal,
      value: formatCount(counted),
      extra: counted > 0 ? range : m.tooltipEmpty,
    },
    ...makeMeanRows(exact),
    ...makeIssueRows(series, index),
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
  return [
    { name: m.tooltipMeanStd, value: formatValue(mean), extra: `± ${formatValue(deviation)}` },
  ];
}

function makeIssueRows(series: HistogramSeriesRow, index: number): TooltipRow[] {
  const countRow = (name: string, count: number | undefined): TooltipRow[] =>
    count && count > 0 ? [{ name, value: formatInteger(count), tone: 'warning' }] : [];
  const [num, counted] = [series.num[index] ?? NaN, series.bucket_sum[index] ?? 0];
  const differs = Number.isFinite(num) && Math.abs(num - counted) > 1e-6 * Math.max(1, num);
  return [
    ...countRow(common.nan, series.nan[index]),
    ...countRow(common.positiveInfinity, series.positive_infinity[index]),
    ...countRow(common.negativeInfinity, series.negative_infinity[index]),
    ...countRow(m.tooltipUnbounded, series.unbounded[index]),
    ...(series.has_nan[index]
      ? [
          {
            name: m.tooltipInvalidEdges,
            value: m.tooltipInvalidEdgesValue,
            tone: 'warning' as const,
          },
        ]
      : []),
    ...(differs
      ? [{ name: m.tooltipReportedCount, value: formatCount(num), tone: 'warning' as const }]
      : []),
  ];
}

/** Return the percentiles, the largest first as in the chart. */
export function makePercentileRows(series: HistogramSeriesRow, index: number): TooltipRow[] {
  const rows = PERCENTILES.map((percent, column): TooltipRow => {
    const value = series.percentiles?.[PERCENTILES.length * index + column] ?? NaN;
    return {
      name: formatPercentile(percent),
      value: Number.isNaN(value) ? common.noValueSymbol : formatValue(value),
      ...(percent === 50 ? { tone: 'strong' as const } : {}),
    };
  });
  return rows.reverse();
}

/** Return the name of a percentile. */
export function formatPercentile(percent: number): string {
  if (percent === 0) return common.minShort;
  if (percent === 50) return common.median;
  return percent === 100 ? common.maxShort : common.percent({ value: String(percent) });
}
