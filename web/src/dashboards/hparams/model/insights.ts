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

/** What the best sessions have in common that the others have not. */
export interface Insight {
  readonly column: TrialColumn;
  /** For numbers: where among all values those of the best are. */
  readonly tendency: 'low' | 'middle' | 'high' | null;
  /** For words: the one that most of the best have. */
  readonly category: string | null;
  /** Between which most of the best are. */
  readonly range: readonly [number, number] | null;
  /** How unlikely it would be by chance, in standard deviations. */
  readonly strength: number;
}

export interface Insights {
  readonly topRows: Int32Array;
  readonly rankedCount: number;
  readonly items: readonly Insight[];
}

/** The best tenth is looked at, of few sessions a larger part. */
const TOP_SHARE = 0.1;
const MIN_TOP_COUNT = 8;
const MAX_TOP_SHARE = 0.25;
/** Fewer sessions tell nothing. */
const MIN_TRIALS = 8;
/** What is less far from chance is not told. */
const MIN_STRENGTH = 2.3;
/** In ranks from 0 to 1: less is sure at best, but not worth telling. */
const MIN_TENDENCY = 0.08;
const QUARTILE = 0.25;

export function* computeInsights(
  goal: Objective,
  columns: readonly TrialColumn[],
  rows: Int32Array,
): Task<Insights> {
  const ranked = rankByObjective(goal, rows);
  const top = ranked.subarray(0, getTopCount(ranked.length));
  const judged = ranked.length;
  if (judged < MIN_TRIALS) return { topRows: top, rankedCount: judged, items: [] };
  const numbers = columns.filter(({ categories }) => categories === null);
  const ranks = new Map<TrialColumn, Float64Array>();
  for (const column of numbers) {
    yield;
    ranks.set(column, computeRanks(pickValues(column, ranked)));
  }
  const effects = yield* computeEffects(
    [...ranks.values()],
    computeRanks(pickValues(goal.column, ranked)),
  );
  const found: Insight[] = [];
  for (const column of columns) {
    yield;
    const own = ranks.get(column);
    const effect = effects[numbers.indexOf(column)] ?? 0;
    const finding = own
      ? findTendency(column, own, top, goal.minimize ? -effect : effect)
      : findCategory(column, column.categories ?? [], ranked, top);
    if (finding && finding.strength >= MIN_STRENGTH) found.push(finding);
  }
  return {
    topRows: top,
    rankedCount: judged,
    items: found.sort((one, other) => other.strength - one.strength),
  };
}

function getTopCount(judged: number): number {
  const wanted = Math.max(Math.round(judged * TOP_SHARE), MIN_TOP_COUNT);
  return Math.min(wanted, Math.max(1, Math.floor(judged * MAX_TOP_SHARE)));
}

/**
 * Ranks of the best, which come first, beside those of all. What the best lean to is also believed
 * where it is sure only once the other hyperparameters are held, as long as the best do lean that way.
 */
function findTendency(
  column: TrialColumn,
  ranks: Float64Array,
  top: Int32Array,
  effect: number,
): Insight | null {
  const best = pickValues(column, top).filter(Number.isFinite).sort();
  const usual = computeStats(ranks);
  const places = computeStats(ranks.subarray(0, top.length));
  if (!usual || !places || !(usual.std > 0) || places.count < 2) return null;
  const lean = places.mean - usual.mean;
  const range = [getQuantile(best, QUARTILE), getQuantile(best, 1 - QUARTILE)] as const;
  const shift = (Math.abs(lean) / usual.std) * Math.sqrt(places.count);
  const held = lean * effect > 0 ? Math.abs(effect) : 0;
  const strength = Math.max(shift, held);
  if (strength >= MIN_STRENGTH && Math.abs(lean) >= MIN_TENDENCY)
    return { column, tendency: lean < 0 ? 'low' : 'high', category: null, range, strength };
  // Those in the middle do not lean, but lie closer together than chance would have it.
  const narrowing = (1 - places.std / usual.std) * Math.sqrt(2 * places.count);
  return { column, tendency: 'middle', category: null, range, strength: narrowing };
}

function findCategory(
  column: TrialColumn,
  words: readonly string[],
  ranked: Int32Array,
  top: Int32Array,
): Insight | null {
  let found: Insight | null = null;
  words.forEach((word, place) => {
    const expected = computeShare(column, place, ranked);
    if (expected === 0 || expected === 1) return;
    const deviation = Math.sqrt((expected * (1 - expected)) / top.length);
    const strength = (computeShare(column, place, top) - expected) / deviation;
    if (strength > (found?.strength ?? 0))
      found = { column, tendency: null, category: word, range: null, strength };
  });
  return found;
}

function computeShare({ values }: TrialColumn, place: number, rows: Int32Array): number {
  return rows.filter((row) => values[row] === place).length / Math.max(1, rows.length);
}

function pickValues({ values }: TrialColumn, rows: Int32Array): Float64Array {
  const picked = new Float64Array(rows.length);
  for (let at = 0; at < rows.length; at++) picked[at] = values[rows[at] ?? 0] ?? NaN;
  return picked;
}

function getQuantile(sorted: Float64Array, share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))] ?? NaN;
}

/** A column of a model, each value less the mean and in standard deviations. */
type StandardizedColumn = Float64Array;

/** Rounds are enough when columns hardly depend on each other, as those of a search. */
const ITERATIONS = 12;

/**
 * How surely a target rises (or falls) with each column while the others are held: the slopes of one
 * linear model on their ranks, in units of their standard error.
 */
export function* computeEffects(
  columns: readonly Float64Array[],
  target: Float64Array,
): Task<number[]> {
  const standards: StandardizedColumn[] = [];
  for (const column of columns) {
    yield;
    standards.push(standardize(column));
  }
  const rest = standardize(target);
  const slopes = columns.map(() => 0);
  for (let round = 0; round < ITERATIONS; round++) {
    yield;
    standards.forEach((column, at) => {
      const change = computeSlope(column, rest);
      slopes[at] = (slopes[at] ?? 0) + change;
      for (let row = 0; row < rest.length; row++)
        rest[row] = (rest[row] ?? 0) - change * (column[row] ?? 0);
    });
  }
  const free = Math.max(1, target.length - columns.length - 1);
  const error = Math.sqrt(rest.reduce((sum, value) => sum + value * value, 0) / free);
  return slopes.map((slope) => (slope / Math.max(error, 1e-6)) * Math.sqrt(target.length));
}

/** Values that are not there count as neither high nor low. */
function standardize(ranks: Float64Array): StandardizedColumn {
  const known = ranks.filter((rank) => !Number.isNaN(rank));
  const mean = known.reduce((sum, rank) => sum + rank, 0) / Math.max(1, known.length);
  const squares = known.reduce((sum, rank) => sum + (rank - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / Math.max(1, ranks.length));
  if (!(deviation > 0)) return new Float64Array(ranks.length);
  return ranks.map((rank) => (Number.isNaN(rank) ? 0 : (rank - mean) / deviation));
}

function computeSlope(column: StandardizedColumn, rest: Float64Array): number {
  let sum = 0;
  for (let row = 0; row < column.length; row++) sum += (column[row] ?? 0) * (rest[row] ?? 0);
  return sum / Math.max(1, column.length);
}

/** Things that are counted are many or few, not high or low. */
const COUNT_NAME =
  /(?:^|[_\s./-])(?:num|n|units?|layers?|heads?|epochs?|steps?|filters?|neurons?|trees|blocks?)(?:$|[_\s./-])/i;

/** More values than that nobody chose one by one. */
const MAX_CHOSEN_VALUES = 12;

/** What is said of a hyperparameter: `high`, `many`, `adam`. */
export function formatTendency({ column, tendency, category }: Insight): string {
  if (category !== null) return category;
  if (tendency === 'middle') return 'medium';
  if (!COUNT_NAME.test(column.title)) return tendency ?? '';
  return tendency === 'high' ? 'many' : 'few';
}

/** Between which values most of the best are. */
export function formatInsightRange({ column, range }: Insight): string {
  if (!range) return '';
  // Of values that were drawn at random, further digits say nothing and cost time to read.
  const isRandom =
    column.format === 'value' && findDistinctValues(column, MAX_CHOSEN_VALUES) === null;
  const [low, high] = range.map((end) =>
    formatColumnValue(column, isRandom ? Number(end.toPrecision(2)) : end),
  );
  return low === high ? `${low}` : `${low} – ${high}`;
}
