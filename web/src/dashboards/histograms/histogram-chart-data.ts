/** What a card shows of a response: chart data, captions and issues, and how many runs fit. */
import type { BucketsResponse, HistogramChartRow, HistogramSeriesRow } from '../../api/schemas';
import { parseJsonNumber } from '../../api/columns';
import * as common from '../../catalog/common';
import * as m from '../../catalog/histograms';
import { getBinIndex } from '../../charts/histogram/histogram-interaction';
import {
  type HistogramData,
  type HistogramMode,
  PERCENTILES,
} from '../../charts/histogram/histogram-model';
import { translate } from '../../i18n/messages';
import { formatCount, formatInteger, formatValue } from '../../lib/format';
import type { Runs } from '../../plugin/context';
import { withoutSharedFolder } from '../../scalar-cards/tooltip-rows';

const MAX_LISTED_ERRORS = 3;
const DEFAULT_COLOR = '#5b6b82';
const NO_DATA: HistogramData = { binEdges: new Float64Array(), series: [] };

export function makeHistogramData(response: HistogramChartRow | null, runs: Runs): HistogramData {
  if (!response) return NO_DATA;
  const binEdges = response.grid ?? new Float64Array();
  const names = response.series.map(({ run }) => runs.find(run)?.label ?? run);
  const shortNames = withoutSharedFolder(names);
  const series = response.series.map((row, index) => ({
    id: row.run,
    label: shortNames.get(names[index] ?? '') ?? row.run,
    color: runs.find(row.run)?.color ?? DEFAULT_COLOR,
    x: row.x,
    counts: row.bins ?? new Float32Array(),
    percentiles: row.percentiles ?? new Float64Array(),
  }));
  return { binEdges, series };
}

/** Return how many runs and steps a card shows, and what it leaves out. */
export function formatCaption(
  { runs, series, is_clipped }: HistogramChartRow,
  isExport: boolean,
): string {
  const steps = Math.max(0, ...series.map(({ count }) => count));
  const drawn = Math.max(0, ...series.map(({ x }) => x.length));
  const counts = { steps, drawn: formatCount(drawn) };
  return [
    ...(runs > 1 ? [common.runCount({ count: runs })] : []),
    drawn >= steps
      ? m.noteAllSteps({ steps })
      : isExport
        ? m.noteExported(counts)
        : m.noteSampled(counts),
    ...(is_clipped ? [m.noteOutliersHidden] : []),
  ].join(' · ');
}

export function formatCaptionDetails(
  { series, is_clipped }: HistogramChartRow,
  isExport: boolean,
): string {
  const all = series.reduce((sum, { count }) => sum + count, 0);
  const drawn = series.reduce((sum, { x }) => sum + x.length, 0);
  const counts = { drawn: formatInteger(drawn), all: formatInteger(all) };
  return [
    drawn >= all
      ? m.noteFullAll
      : isExport
        ? m.noteFullExported(counts)
        : m.noteFullSampled(counts),
    ...(is_clipped ? [m.noteFullOutliersHidden] : []),
  ].join(' ');
}

/** NaN, infinities and unreadable histograms among those that are shown. */
export interface HistogramIssues {
  /** Steps with NaN or infinities. */
  readonly nonFiniteSteps: number;
  readonly unreadableCount: number;
  readonly description: string;
}

export function summarizeIssues(series: readonly HistogramSeriesRow[]): HistogramIssues {
  const steps = series.reduce((sum, one) => sum + countIssues(one), 0);
  const errors = series.flatMap(({ errors: flaws }) => flaws);
  const lines = [
    ...(steps > 0 ? [m.issuesNonFinite({ count: steps })] : []),
    ...errors
      .slice(0, MAX_LISTED_ERRORS)
      .map(({ step, message }) =>
        m.issuesStep({ step: formatInteger(step), message: translate(message) }),
      ),
  ];
  return { nonFiniteSteps: steps, unreadableCount: errors.length, description: lines.join('\n') };
}

function countIssues(series: HistogramSeriesRow): number {
  let count = 0;
  for (let index = 0; index < series.x.length; index++) if (hasIssue(series, index)) count++;
  return count;
}

function hasIssue(series: HistogramSeriesRow, index: number): boolean {
  const { nan, positive_infinity: above, negative_infinity: below, has_nan, unbounded } = series;
  return [nan, above, below, has_nan, unbounded].some((column) => (column[index] ?? 0) > 0);
}

/** Smallest size at which the chart of a run is legible. */
const MIN_PANEL_WIDTH_PX = 112;
const MIN_PANEL_HEIGHT_PX = 72;
const MAX_PANELS = 16;
/** More runs in one chart would hide each other. */
const MAX_OVERLAID_RUNS = 12;

/** Return how many runs fit into a chart. */
export function getMaxRuns(mode: HistogramMode, width: number, height: number): number {
  if (mode === 'together') return MAX_OVERLAID_RUNS;
  const [columns, rows] = [
    Math.floor(width / MIN_PANEL_WIDTH_PX),
    Math.floor(height / MIN_PANEL_HEIGHT_PX),
  ];
  return Math.max(1, Math.min(MAX_PANELS, columns * rows));
}

const CARD_HEADER_PX = 34;
const CARD_ASPECT_RATIO = 0.64;
/** Additional height per width if several runs have charts. */
const EXTRA_FOR_FEW_RUNS = 0.12;
const EXTRA_FOR_MANY_RUNS = 0.3;

/** Return the height of a card in pixels. */
export function getCardHeight(width: number, runs: number): number {
  const extra = runs > 4 ? EXTRA_FOR_MANY_RUNS : runs > 1 ? EXTRA_FOR_FEW_RUNS : 0;
  return Math.round(CARD_HEADER_PX + width * (CARD_ASPECT_RATIO + extra));
}

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
