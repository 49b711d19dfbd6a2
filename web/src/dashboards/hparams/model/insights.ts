/**
 * What the best trials have in common, the Pareto front of several objectives, and empirical distributions of one.
 */
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/hparams';
import { computeStats } from '../../../lib/arrays';
import type { Task } from '../../../lib/browser';
import {
  computeRanks,
  findDistinctValues,
  formatColumnValue,
  getCategoryLabel,
  getCategoryText,
  type Objective,
  rankByObjective,
  type TrialColumn,
} from './trials';

/** A property of the best trials that the others do not have. */
export interface Insight {
  readonly column: TrialColumn;
  /** Of numbers: where the values of the best are among all values. */
  readonly tendency: 'low' | 'middle' | 'high' | null;
  /** Of categories: the one that most of the best have. */
  readonly category: string | null;
  /** The interquartile range of the best. */
  readonly range: readonly [number, number] | null;
  /** The probability that chance alone has the same effect in this column. */
  readonly probability: number;
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
/** The probability that chance alone produces any insight of a study. */
const MAX_FALSE_PROBABILITY = 0.05;
const QUARTILE = 0.25;

/**
 * Compare the best trials with the others, column by column. An insight is true for more than half
 * of the best trials, and differs significantly from the others after a correction for the number
 * of comparisons (Holm). Trials without a value of a column do not count for it.
 */
export function* computeInsights(
  objective: Objective,
  columns: readonly TrialColumn[],
  rows: Int32Array,
): Task<Insights> {
  const ranked = rankByObjective(objective, rows);
  const rankedCount = ranked.length;
  const topRows = ranked.subarray(0, getTopCount(rankedCount));
  if (rankedCount < MIN_TRIALS) return { topRows, rankedCount, items: [] };
  const tested = columns.filter((column) => !isIdentifier(column, ranked));
  const candidates: Insight[] = [];
  for (const column of tested) {
    yield;
    const found = column.categories
      ? findCategory(column, column.categories, ranked, topRows)
      : findTendency(column, ranked, topRows);
    if (found) candidates.push(found);
  }
  candidates.sort((a, b) => a.probability - b.probability);
  const isChance = ({ probability }: Insight, index: number): boolean =>
    probability * (tested.length - index) > MAX_FALSE_PROBABILITY;
  const end = candidates.findIndex(isChance);
  return { topRows, rankedCount, items: end < 0 ? candidates : candidates.slice(0, end) };
}

function getTopCount(count: number): number {
  const preferred = Math.max(Math.round(count * TOP_SHARE), MIN_TOP_COUNT);
  return Math.min(preferred, Math.max(1, Math.floor(count * MAX_TOP_SHARE)));
}

const HASH = /^(?=.*\d)(?=.*[a-f])[0-9a-f]{7,}$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PATH =
  /^(?:[~.]{0,2}[\\/]|[a-z]:[\\/]|[a-z][a-z0-9+.-]*:\/\/)|[\\/].*[\\/]|[\\/][^\\/]*\.\w{1,8}$/i;

/** Return whether the texts of a column name things: they are mostly unique, or hashes, or paths. */
function isIdentifier({ categories, values }: TrialColumn, rows: Int32Array): boolean {
  if (!categories) return false;
  const used = Array.from(rows, (row) => values[row] ?? NaN).filter(Number.isFinite);
  const distinct = [...new Set(used)];
  const names = distinct.filter((index) => {
    const text = categories[index] ?? '';
    return HASH.test(text) || PATH.test(text);
  });
  return distinct.length > used.length / 2 || names.length > distinct.length / 2;
}

/**
 * Test whether the best values are low, high or in the middle: their mean rank, or its distance from
 * the median, compared with that of as many trials drawn at random (normal approximation).
 */
function findTendency(column: TrialColumn, ranked: Int32Array, top: Int32Array): Insight | null {
  const ranks = computeRanks(pickValues(column, ranked));
  const best = pickValues(column, top).filter(Number.isFinite).sort();
  if (best.length < 2) return null;
  const topRanks = ranks.subarray(0, top.length);
  const range = getMiddleRange(best);
  const isMajority = (matches: (rank: number) => boolean): boolean =>
    topRanks.filter(matches).length > top.length / 2;
  const shift = computeShift(ranks, topRanks);
  const tendency = shift < 0 ? 'low' : 'high';
  const base = { column, category: null, range };
  if (isMajority((rank) => (shift < 0 ? rank < 0.5 : rank > 0.5))) {
    // Two tests with two and one tails.
    const probability = 2 * 2 * getUpperTail(Math.abs(shift));
    if (probability <= MAX_FALSE_PROBABILITY) return { ...base, tendency, probability };
  }
  const distances = ranks.map((rank) => Math.abs(rank - 0.5));
  const narrowing = -computeShift(distances, distances.subarray(0, top.length));
  return isMajority((rank) => Math.abs(rank - 0.5) < QUARTILE)
    ? { ...base, tendency: 'middle', probability: 2 * getUpperTail(narrowing) }
    : null;
}

/** Return the mean of a part minus the mean of all, in standard errors of random parts. */
function computeShift(all: Float64Array, part: Float64Array): number {
  const allStats = computeStats(all);
  const partStats = computeStats(part);
  if (!allStats || !partStats || !(allStats.std > 0)) return 0;
  const rest = allStats.count - partStats.count;
  if (rest === 0) return 0;
  const error = allStats.std * Math.sqrt(rest / (allStats.count * partStats.count));
  return (partStats.mean - allStats.mean) / error;
}

/** Return the probability that a standard normal variable is above `z` (Abramowitz & Stegun 26.2.17). */
function getUpperTail(z: number): number {
  if (z < 0) return 1 - getUpperTail(-z);
  const t = 1 / (1 + 0.2316419 * z);
  const series =
    t *
    (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return (series * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
}

/** Find the category that more than half of the best have, and test it (Fisher's exact test). */
function findCategory(
  column: TrialColumn,
  categories: readonly string[],
  ranked: Int32Array,
  top: Int32Array,
): Insight | null {
  const count = (rows: Int32Array, index: number): number =>
    rows.filter((row) => column.values[row] === index).length;
  const index = categories.findIndex((_, index) => count(top, index) > top.length / 2);
  const category = categories[index];
  if (category === undefined) return null;
  const known = (rows: Int32Array): number =>
    rows.filter((row) => Number.isFinite(column.values[row])).length;
  const probability = getHypergeometricTail(
    count(top, index),
    known(top),
    count(ranked, index),
    known(ranked),
  );
  const corrected = probability * Math.min(categories.length, known(ranked));
  return { column, tendency: null, category, range: null, probability: corrected };
}

/** Return the probability of at least `hits` among `draws` of a population with `successes`. */
function getHypergeometricTail(
  hits: number,
  draws: number,
  successes: number,
  population: number,
): number {
  const logTotal = logChoose(population, draws);
  let sum = 0;
  for (let count = hits; count <= Math.min(draws, successes); count++)
    sum += Math.exp(
      logChoose(successes, count) + logChoose(population - successes, draws - count) - logTotal,
    );
  return Math.min(1, sum);
}

function logChoose(n: number, k: number): number {
  if (k < 0 || k > n) return -Infinity;
  let sum = 0;
  for (let index = 1; index <= k; index++) sum += Math.log((n - k + index) / index);
  return sum;
}

function pickValues({ values }: TrialColumn, rows: Int32Array): Float64Array {
  const picked = new Float64Array(rows.length);
  for (let index = 0; index < rows.length; index++) picked[index] = values[rows[index] ?? 0] ?? NaN;
  return picked;
}

/** Return the interquartile range between values of trials; it is symmetric, also for three. */
function getMiddleRange(sorted: Float64Array): readonly [number, number] {
  const last = sorted.length - 1;
  const low = Math.ceil(QUARTILE * last - 0.5);
  return [sorted[low] ?? NaN, sorted[last - low] ?? NaN];
}

/** Names of counts, of which there are many or few rather than high or low ones. */
const COUNT_NAME =
  /(?:^|[_\s./-])(?:num|n|units?|layers?|heads?|epochs?|steps?|filters?|neurons?|trees|blocks?)(?:$|[_\s./-])/i;

/** Columns with more values were probably sampled at random. */
const MAX_GRID_VALUES = 12;

/** Return an insight as text: `low dropout`, `many units`, `adam optimizer`. */
export function formatInsight({ column, tendency, category }: Insight): string {
  const hparam = column.title;
  if (category !== null) return m.insightsCategory({ hparam, category: getCategoryText(category) });
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

/** Return an insight with its range as text: `low dropout (0.1 – 0.2)`. */
export function formatInsightWithRange(insight: Insight): string {
  const range = formatInsightRange(insight);
  const text = formatInsight(insight);
  return range === '' ? text : m.insightsWithRange({ insight: text, range });
}

/**
 * Return the trials among `rows` that no other trial dominates: none is at least as good in all
 * objectives and better in one. Trials without a finite value of each objective are left out. Equal
 * trials do not dominate each other. The result is in order of the first objective, the best first.
 */
export function findParetoFront(objectives: readonly Objective[], rows: Int32Array): Int32Array {
  if (objectives.length === 0) return new Int32Array();
  // Lower is better in all of these.
  const costs = objectives.map(({ column, minimize }) =>
    minimize ? column.values : column.values.map((value) => -value),
  );
  const candidates = rows.filter((row) => costs.every((cost) => Number.isFinite(cost[row])));
  // A trial can only be dominated by one that comes before it in this order.
  candidates.sort((a, b) => {
    for (const cost of costs) {
      const order = (cost[a] ?? 0) - (cost[b] ?? 0);
      if (order !== 0) return order;
    }
    return a - b;
  });
  const front: number[] = [];
  for (const row of candidates)
    if (!front.some((other) => dominates(costs, other, row))) front.push(row);
  return Int32Array.from(front);
}

function dominates(costs: readonly Float64Array[], one: number, other: number): boolean {
  let isBetter = false;
  for (const cost of costs) {
    const difference = (cost[one] ?? 0) - (cost[other] ?? 0);
    if (difference > 0) return false;
    if (difference < 0) isBetter = true;
  }
  return isBetter;
}

interface Distribution {
  /** The value of the column that trials are split by; null if they are not. */
  readonly label: string | null;
  /** Finite values in ascending order. */
  readonly values: Float64Array;
  /** For each value, the share of trials with at most this value. */
  readonly shares: Float64Array;
  readonly median: number;
}

/** Columns with more values have no line for each. */
const MAX_SPLIT_VALUES = 12;

/** Return the columns that trials can be split by: the study, and hyperparameters with few values. */
export function listSplitColumns(columns: readonly TrialColumn[]): TrialColumn[] {
  return columns.filter(
    ({ kind, categories, varies, key }) =>
      varies &&
      categories !== null &&
      categories.length <= MAX_SPLIT_VALUES &&
      (kind === 'hparam' || key === 'study' || key === 'status'),
  );
}

/** Return the distribution of a column, one for each value of `split`; without empty ones. */
export function computeDistributions(
  { values }: TrialColumn,
  split: TrialColumn | null,
  rows: Int32Array,
): Distribution[] {
  const finite = rows.filter((row) => Number.isFinite(values[row]));
  if (!split?.categories) return finite.length > 0 ? [makeDistribution(null, values, finite)] : [];
  return split.categories.flatMap((_, category) => {
    const own = finite.filter((row) => split.values[row] === category);
    return own.length > 0 ? [makeDistribution(getCategoryLabel(split, category), values, own)] : [];
  });
}

function makeDistribution(
  label: string | null,
  values: Float64Array,
  rows: Int32Array,
): Distribution {
  const sorted = Float64Array.from(rows, (row) => values[row] ?? NaN).sort();
  const { length } = sorted;
  const [low, high] = [(length - 1) >> 1, length >> 1];
  return {
    label,
    values: sorted,
    shares: sorted.map((_, index) => (index + 1) / length),
    median: ((sorted[low] ?? NaN) + (sorted[high] ?? NaN)) / 2,
  };
}
