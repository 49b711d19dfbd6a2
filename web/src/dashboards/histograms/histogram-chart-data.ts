import type { HistogramData, HistogramMode } from '../../charts/histogram/histogram-model';
import { formatCount, formatInteger, formatPlural } from '../../lib/format';
import type { Runs } from '../../plugin/context';
import { withoutSharedFolder } from '../../scalar-cards/tooltip-rows';
import type { HistogramChartRow, HistogramSeriesRow } from '../../api/schemas';

const NO_DATA: HistogramData = { binEdges: new Float64Array(), series: [] };

/** What a chart draws of an answer. */
export function makeHistogramData(answer: HistogramChartRow | null, runs: Runs): HistogramData {
  if (!answer) return NO_DATA;
  const binEdges = answer.grid ?? new Float64Array();
  const names = answer.series.map(({ run }) => runs.find(run)?.label ?? run);
  const short = withoutSharedFolder(names);
  const series = answer.series.map((row, number) => {
    const shown = runs.find(row.run);
    return {
      id: row.run,
      label: short.get(names[number] ?? '') ?? row.run,
      color: shown?.color ?? '#5b6b82',
      x: row.x,
      counts: row.bins ?? new Float32Array(),
      percentiles: row.percentiles ?? new Float64Array(),
    };
  });
  return { binEdges, series };
}

/** How many runs and how many of their steps are seen: nothing is left out without a word. */
export function formatCardNote({ runs, series, cut }: HistogramChartRow, isCopy: boolean): string {
  const steps = Math.max(0, ...series.map(({ count }) => count));
  const drawn = Math.max(0, ...series.map(({ x }) => x.length));
  const who = runs > 1 ? `${formatPlural(runs, 'run')} · ` : '';
  const far = cut ? ' · far values cut off' : '';
  if (drawn >= steps) return `${who}all ${formatPlural(steps, 'step')}${far}`;
  if (isCopy)
    return `${who}${formatCount(drawn)} of ${formatPlural(steps, 'step')} in this copy${far}`;
  return `${who}${formatPlural(steps, 'step')}, ${formatCount(drawn)} drawn${far}`;
}

export function formatFullCardNote({ series, cut }: HistogramChartRow, isCopy: boolean): string {
  const all = series.reduce((sum, { count }) => sum + count, 0);
  const drawn = series.reduce((sum, { x }) => sum + x.length, 0);
  const far = cut ? '. A few far values lie beyond the ends' : '';
  if (drawn >= all) return `Every histogram is drawn${far}`;
  const some = isCopy
    ? `${formatInteger(drawn)} of ${formatInteger(all)} histograms were put into this copy, evenly chosen`
    : `${formatInteger(drawn)} of ${formatInteger(all)} histograms, evenly chosen; zoom in to see all of a part`;
  return some + far;
}

/** What was no number, and what could not be read, among the histograms that are drawn. */
export interface HistogramIssues {
  /** Steps with NaN or infinities. */
  readonly nonFiniteSteps: number;
  readonly unreadableCount: number;
  readonly description: string;
}

export function summarizeIssues(series: readonly HistogramSeriesRow[]): HistogramIssues {
  const steps = series.reduce((sum, one) => sum + countIssues(one), 0);
  const flaws = series.flatMap(({ flaws }) => flaws);
  const words = [
    ...(steps > 0
      ? [
          `NaN or infinite numbers were logged at ${formatPlural(steps, 'step')}; they are in no bucket`,
        ]
      : []),
    ...flaws.slice(0, 3).map(({ step, what }) => `Step ${formatInteger(step)}: ${what}`),
  ];
  return { nonFiniteSteps: steps, unreadableCount: flaws.length, description: words.join('. ') };
}

function countIssues(series: HistogramSeriesRow): number {
  let count = 0;
  for (let at = 0; at < series.x.length; at++) if (hasIssue(series, at)) count++;
  return count;
}

export function hasIssue(series: HistogramSeriesRow, at: number): boolean {
  const { nan, positive_infinity: above, negative_infinity: below, spoiled, unplaced } = series;
  return [nan, above, below, spoiled, unplaced].some((column) => (column[at] ?? 0) > 0);
}

/** A small chart can still be read when it is so large, in pixels. */
const MIN_PANEL_WIDTH_PX = 112;
const MIN_PANEL_HEIGHT_PX = 72;
const MAX_PANELS = 16;
/** Where runs share a chart, more of them would hide each other. */
const MAX_OVERLAID_RUNS = 12;

/** For how many runs a chart has room. */
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
/** What is added to the height, in parts of the width, where several runs have charts. */
const EXTRA_FOR_FEW_RUNS = 0.12;
const EXTRA_FOR_MANY_RUNS = 0.3;

/** How high a card of a width is, in pixels. */
export function getCardHeight(width: number, runs: number): number {
  const more = runs > 4 ? EXTRA_FOR_MANY_RUNS : runs > 1 ? EXTRA_FOR_FEW_RUNS : 0;
  return Math.round(CARD_HEADER_PX + width * (CARD_ASPECT_RATIO + more));
}
