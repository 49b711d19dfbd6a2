import type { Work } from '../../../base/pieces';
import { spreadOf } from '../../../base/statistics';
import type { Column } from './column';
import { effectsOf } from './effects';
import { type Goal, rankRows } from './goal';
import { ranksOf } from './rank';

/** What the best sessions have in common that the others have not. */
export interface Finding {
  readonly column: Column;
  /** For numbers: where among all values those of the best are. */
  readonly lean: 'low' | 'middle' | 'high' | null;
  /** For words: the one that most of the best have. */
  readonly word: string | null;
  /** Between which most of the best are. */
  readonly range: readonly [number, number] | null;
  /** How unlikely it would be by chance, in standard deviations. */
  readonly strength: number;
}

export interface Findings {
  readonly top: Int32Array;
  readonly judged: number;
  readonly found: readonly Finding[];
}

/** The best tenth is looked at, of few sessions a larger part. */
const SHARE = 0.1;
const FEWEST = 8;
const LARGEST_SHARE = 0.25;
/** Fewer sessions tell nothing. */
const LEAST_SESSIONS = 8;
/** What is less far from chance is not told. */
const TELLING = 2.3;
/** In ranks from 0 to 1: less is sure at best, but not worth telling. */
const LEAST_LEAN = 0.08;
const QUARTER = 0.25;

export function* findCommon(
  goal: Goal,
  columns: readonly Column[],
  rows: Int32Array,
): Work<Findings> {
  const ranked = rankRows(goal, rows);
  const top = ranked.subarray(0, topCount(ranked.length));
  const judged = ranked.length;
  if (judged < LEAST_SESSIONS) return { top, judged, found: [] };
  const numbers = columns.filter(({ words }) => words === null);
  const ranks = new Map<Column, Float64Array>();
  for (const column of numbers) {
    yield;
    ranks.set(column, ranksOf(pick(column, ranked)));
  }
  const effects = yield* effectsOf([...ranks.values()], ranksOf(pick(goal.column, ranked)));
  const found: Finding[] = [];
  for (const column of columns) {
    yield;
    const own = ranks.get(column);
    const effect = effects[numbers.indexOf(column)] ?? 0;
    const finding = own
      ? findLean(column, own, top, goal.isLow ? -effect : effect)
      : findWord(column, column.words ?? [], ranked, top);
    if (finding && finding.strength >= TELLING) found.push(finding);
  }
  return { top, judged, found: found.sort((one, other) => other.strength - one.strength) };
}

function topCount(judged: number): number {
  const wanted = Math.max(Math.round(judged * SHARE), FEWEST);
  return Math.min(wanted, Math.max(1, Math.floor(judged * LARGEST_SHARE)));
}

/**
 * Ranks of the best, which come first, beside those of all. What the best lean to is also believed
 * where it is sure only once the other hyperparameters are held, as long as the best do lean that way.
 */
function findLean(
  column: Column,
  ranks: Float64Array,
  top: Int32Array,
  effect: number,
): Finding | null {
  const best = pick(column, top).filter(Number.isFinite).sort();
  const usual = spreadOf(ranks);
  const places = spreadOf(ranks.subarray(0, top.length));
  if (!usual || !places || !(usual.std > 0) || places.count < 2) return null;
  const lean = places.mean - usual.mean;
  const range = [at(best, QUARTER), at(best, 1 - QUARTER)] as const;
  const shift = (Math.abs(lean) / usual.std) * Math.sqrt(places.count);
  const held = lean * effect > 0 ? Math.abs(effect) : 0;
  const strength = Math.max(shift, held);
  if (strength >= TELLING && Math.abs(lean) >= LEAST_LEAN)
    return { column, lean: lean < 0 ? 'low' : 'high', word: null, range, strength };
  // Those in the middle do not lean, but lie closer together than chance would have it.
  const narrowing = (1 - places.std / usual.std) * Math.sqrt(2 * places.count);
  return { column, lean: 'middle', word: null, range, strength: narrowing };
}

function findWord(
  column: Column,
  words: readonly string[],
  ranked: Int32Array,
  top: Int32Array,
): Finding | null {
  let found: Finding | null = null;
  words.forEach((word, place) => {
    const expected = shareOf(column, place, ranked);
    if (expected === 0 || expected === 1) return;
    const deviation = Math.sqrt((expected * (1 - expected)) / top.length);
    const strength = (shareOf(column, place, top) - expected) / deviation;
    if (strength > (found?.strength ?? 0))
      found = { column, lean: null, word, range: null, strength };
  });
  return found;
}

function shareOf({ numbers }: Column, place: number, rows: Int32Array): number {
  return rows.filter((row) => numbers[row] === place).length / Math.max(1, rows.length);
}

function pick({ numbers }: Column, rows: Int32Array): Float64Array {
  const picked = new Float64Array(rows.length);
  for (let at = 0; at < rows.length; at++) picked[at] = numbers[rows[at] ?? 0] ?? NaN;
  return picked;
}

function at(sorted: Float64Array, share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))] ?? NaN;
}
