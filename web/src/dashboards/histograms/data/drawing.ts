import type { ChartAnswer, SeriesAnswer } from '../../../api/histograms';
import { formatCount, formatExact, plural } from '../../../base/format';
import type { SpreadContent } from '../../../charts/spread/types';
import { shortLabels } from '../../../curves/tooltip/labels';
import type { Runs } from '../../../plugin/context';

const NOTHING: SpreadContent = { grid: new Float64Array(), spreads: [] };

/** What a chart draws of an answer. */
export function drawingOf(answer: ChartAnswer | null, runs: Runs): SpreadContent {
  if (!answer) return NOTHING;
  const grid = answer.grid ?? new Float64Array();
  const names = answer.series.map(({ run }) => runs.find(run)?.label ?? run);
  const short = shortLabels(names);
  const spreads = answer.series.map((series, number) => {
    const shown = runs.find(series.run);
    return {
      id: series.run,
      label: short.get(names[number] ?? '') ?? series.run,
      colour: shown?.colour ?? '#5b6b82',
      x: series.x,
      rows: series.bins ?? new Float32Array(),
      nine: series.percentiles ?? new Float64Array(),
    };
  });
  return { grid, spreads };
}

/** How many runs and how many of their steps are seen: nothing is left out without a word. */
export function describe({ runs, series, cut }: ChartAnswer, isCopy: boolean): string {
  const steps = Math.max(0, ...series.map(({ count }) => count));
  const drawn = Math.max(0, ...series.map(({ x }) => x.length));
  const who = runs > 1 ? `${plural(runs, 'run')} · ` : '';
  const far = cut ? ' · far values cut off' : '';
  if (drawn >= steps) return `${who}all ${plural(steps, 'step')}${far}`;
  if (isCopy) return `${who}${formatCount(drawn)} of ${plural(steps, 'step')} in this copy${far}`;
  return `${who}${plural(steps, 'step')}, ${formatCount(drawn)} drawn${far}`;
}

export function describeInFull({ series, cut }: ChartAnswer, isCopy: boolean): string {
  const all = series.reduce((sum, { count }) => sum + count, 0);
  const drawn = series.reduce((sum, { x }) => sum + x.length, 0);
  const far = cut ? '. A few far values lie beyond the ends' : '';
  if (drawn >= all) return `Every histogram is drawn${far}`;
  const some = isCopy
    ? `${formatExact(drawn)} of ${formatExact(all)} histograms were put into this copy, evenly chosen`
    : `${formatExact(drawn)} of ${formatExact(all)} histograms, evenly chosen; zoom in to see all of a part`;
  return some + far;
}

/** What was no number, and what could not be read, among the histograms that are drawn. */
export interface Oddities {
  /** Steps with NaN or infinities. */
  readonly steps: number;
  readonly unreadable: number;
  readonly inFull: string;
}

export function findOddities(series: readonly SeriesAnswer[]): Oddities {
  const steps = series.reduce((sum, one) => sum + countOdd(one), 0);
  const flaws = series.flatMap(({ flaws }) => flaws);
  const words = [
    ...(steps > 0
      ? [`NaN or infinite numbers were logged at ${plural(steps, 'step')}; they are in no bucket`]
      : []),
    ...flaws.slice(0, 3).map(({ step, what }) => `Step ${formatExact(step)}: ${what}`),
  ];
  return { steps, unreadable: flaws.length, inFull: words.join('. ') };
}

function countOdd(series: SeriesAnswer): number {
  let count = 0;
  for (let at = 0; at < series.x.length; at++) if (isOdd(series, at)) count++;
  return count;
}

export function isOdd(series: SeriesAnswer, at: number): boolean {
  const { nan, positive_infinity: above, negative_infinity: below, spoiled, unplaced } = series;
  return [nan, above, below, spoiled, unplaced].some((column) => (column[at] ?? 0) > 0);
}
