/** Find out what the best trials have in common. */
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/hparams';
import { computeStats } from '../../../lib/statistics';
import type { Task } from '../../../lib/tasks';
import {
  computeRanks,
  findDistinctValues,
  formatColumnValue,
  type Objective,
  rankByObjective,
  type TrialColumn,
} from './trials';

/** A property of the best trials that the others do not have. */
export interface Insight {
  readonly column: TrialColumn;
  /** Of numbers: where the values of the best are among all values. */
  readonly tendency: 'low' | 'middle' | 'high' | null;
  /** Of categories: the most overrepresented one. */
  readonly category: string | null;
  /** The interquartile range of the best. */
  readonly range: readonly [number, number] | null;
  /** Significance in standard deviations. */
  readonly strength: number;
}

export interface Insights {
  readonly topRows: Int32Array;
  readonly rankedCount: number;
  readonly items: readonly Insight[];
}

/** The best trials are a tenth of all, or more if there are few. */
const TOP_SHARE = 0.1;
const MIN_TOP_COUNT = 8;
const MAX_TOP_SHARE = 0.25;
/** With fewer trials nothing is significant. */
export const MIN_TRIALS = 8;
/** Weaker insights are dropped. */
const MIN_STRENGTH = 2.3;
/** Smaller shifts of the mean rank (0 to 1) may be significant, but are not relevant. */
const MIN_TENDENCY = 0.08;
const QUARTILE = 0.25;

export function* computeInsights(
  objective: Objective,
  columns: readonly TrialColumn[],
  rows: Int32Array,
): Task<Insights> {
  const ranked = rankByObjective(objective, rows);
  const rankedCount = ranked.length;
  const topRows = ranked.subarray(0, getTopCount(rankedCount));
  if (rankedCount < MIN_TRIALS) return { topRows, rankedCount, items: [] };
  const numbers = columns.filter(({ categories }) => categories === null);
  const ranks = new Map<TrialColumn, Float64Array>();
  for (const column of numbers) {
    yield;
    ranks.set(column, computeRanks(pickValues(column, ranked)));
  }
  const effects = yield* computeEffects(
    [...ranks.values()],
    computeRanks(pickValues(objective.column, ranked)),
  );
  const items: Insight[] = [];
  for (const column of columns) {
    yield;
    const columnRanks = ranks.get(column);
    const effect = effects[numbers.indexOf(column)] ?? 0;
    const insight = columnRanks
      ? findTendency(column, columnRanks, topRows, objective.minimize ? -effect : effect)
      : findCategory(column, column.categories ?? [], ranked, topRows);
    if (insight && insight.strength >= MIN_STRENGTH) items.push(insight);
  }
  return { topRows, rankedCount, items: items.sort((a, b) => b.strength - a.strength) };
}

function getTopCount(count: number): number {
  const preferred = Math.max(Math.round(count * TOP_SHARE), MIN_TOP_COUNT);
  return Math.min(preferred, Math.max(1, Math.floor(count * MAX_TOP_SHARE)));
}

/**
 * Compare the ranks of the best trials, which come first, with those of all. A tendency counts as
 * well if only its effect in the linear model (`effect`) is significant and has the same sign.
 */
function findTendency(
  column: TrialColumn,
  ranks: Float64Array,
  top: Int32Array,
  effect: number,
): Insight | null {
  const best = pickValues(column, top).filter(Number.isFinite).sort();
  const allStats = computeStats(ranks);
  const topStats = computeStats(ranks.subarray(0, top.length));
  if (!allStats || !topStats || !(allStats.std > 0) || topStats.count < 2) return null;
  const shift = topStats.mean - allStats.mean;
  const range = [getQuantile(best, QUARTILE), getQuantile(best, 1 - QUARTILE)] as const;
  const shiftStrength = (Math.abs(shift) / allStats.std) * Math.sqrt(topStats.count);
  const effectStrength = shift * effect > 0 ? Math.abs(effect) : 0;
  const strength = Math.max(shiftStrength, effectStrength);
  if (strength >= MIN_STRENGTH && Math.abs(shift) >= MIN_TENDENCY)
    return { column, tendency: shift < 0 ? 'low' : 'high', category: null, range, strength };
  // Values in the middle have no shift, but a smaller spread than all values.
  const narrowing = (1 - topStats.std / allStats.std) * Math.sqrt(2 * topStats.count);
  return { column, tendency: 'middle', category: null, range, strength: narrowing };
}

function findCategory(
  column: TrialColumn,
  categories: readonly string[],
  ranked: Int32Array,
  top: Int32Array,
): Insight | null {
  let strongest: Insight | null = null;
  categories.forEach((category, index) => {
    const expected = computeShare(column, index, ranked);
    if (expected === 0 || expected === 1) return;
    const deviation = Math.sqrt((expected * (1 - expected)) / top.length);
    const strength = (computeShare(column, index, top) - expected) / deviation;
    if (strength > (strongest?.strength ?? 0))
      strongest = { column, tendency: null, category, range: null, strength };
  });
  return strongest;
}

function computeShare({ values }: TrialColumn, category: number, rows: Int32Array): number {
  return rows.filter((row) => values[row] === category).length / Math.max(1, rows.length);
}

function pickValues({ values }: TrialColumn, rows: Int32Array): Float64Array {
  const picked = new Float64Array(rows.length);
  for (let index = 0; index < rows.length; index++) picked[index] = values[rows[index] ?? 0] ?? NaN;
  return picked;
}

function getQuantile(sorted: Float64Array, share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))] ?? NaN;
}

/** Values with mean 0 and standard deviation 1. */
type StandardizedColumn = Float64Array;

/** Enough for columns that are nearly independent, as in a hyperparameter search. */
const ITERATIONS = 12;

/**
 * Return how significantly the target depends on each column if the others are held constant: the
 * slopes of a linear regression by coordinate descent, in units of their standard error.
 */
export function* computeEffects(
  columns: readonly Float64Array[],
  target: Float64Array,
): Task<number[]> {
  const standardized: StandardizedColumn[] = [];
  for (const column of columns) {
    yield;
    standardized.push(standardize(column));
  }
  const residuals = standardize(target);
  const slopes = columns.map(() => 0);
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    yield;
    standardized.forEach((column, index) => {
      const change = computeSlope(column, residuals);
      slopes[index] = (slopes[index] ?? 0) + change;
      for (let row = 0; row < residuals.length; row++)
        residuals[row] = (residuals[row] ?? 0) - change * (column[row] ?? 0);
    });
  }
  const degreesOfFreedom = Math.max(1, target.length - columns.length - 1);
  const squares = residuals.reduce((sum, value) => sum + value * value, 0);
  const error = Math.sqrt(squares / degreesOfFreedom);
  return slopes.map((slope) => (slope / Math.max(error, 1e-6)) * Math.sqrt(target.length));
}

/** Missing values become 0, the mean. */
function standardize(ranks: Float64Array): StandardizedColumn {
  const known = ranks.filter((rank) => !Number.isNaN(rank));
  const mean = known.reduce((sum, rank) => sum + rank, 0) / Math.max(1, known.length);
  const squares = known.reduce((sum, rank) => sum + (rank - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / Math.max(1, ranks.length));
  if (!(deviation > 0)) return new Float64Array(ranks.length);
  return ranks.map((rank) => (Number.isNaN(rank) ? 0 : (rank - mean) / deviation));
}

function computeSlope(column: StandardizedColumn, residuals: Float64Array): number {
  let sum = 0;
  for (let row = 0; row < column.length; row++) sum += (column[row] ?? 0) * (residuals[row] ?? 0);
  return sum / Math.max(1, column.length);
}

/** Names of counts, of which there are many or few rather than high or low ones. */
const COUNT_NAME =
  /(?:^|[_\s./-])(?:num|n|units?|layers?|heads?|epochs?|steps?|filters?|neurons?|trees|blocks?)(?:$|[_\s./-])/i;

/** Columns with more values were probably sampled at random. */
const MAX_GRID_VALUES = 12;

/** Return an insight as text: `low dropout`, `many units`, `adam optimizer`. */
export function formatInsight({ column, tendency, category }: Insight): string {
  const hparam = column.title;
  if (category !== null) return m.insightsCategory({ hparam, category });
  if (tendency === 'middle') return m.insightsMedium({ hparam });
  if (COUNT_NAME.test(hparam))
    return tendency === 'high' ? m.insightsMany({ hparam }) : m.insightsFew({ hparam });
  return tendency === 'high' ? m.insightsHigh({ hparam }) : m.insightsLow({ hparam });
}

/** Return the range of an insight as text; empty for categories. */
export function formatInsightRange({ column, range }: Insight): string {
  if (!range) return '';
  // Two digits are enough for values that were sampled at random.
  const isRandom =
    column.format === 'value' && findDistinctValues(column, MAX_GRID_VALUES) === null;
  const [min = '', max = ''] = range.map((end) =>
    formatColumnValue(column, isRandom ? Number(end.toPrecision(2)) : end),
  );
  return min === max ? min : common.range({ min, max });
}
