/** What a card shows of a response: chart data, captions and issues, and how many runs fit. */
import type { HistogramData, HistogramMode } from '../../charts/histogram/histogram-model';
import { formatCount, formatInteger } from '../../lib/format';
import { translate } from '../../i18n/server-messages';
import type { Runs } from '../../plugin/context';
import { withoutSharedFolder } from '../../scalar-cards/tooltip-rows';
import type { HistogramChartRow, HistogramSeriesRow } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/histograms';

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
