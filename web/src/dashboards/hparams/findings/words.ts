import { distinctNumbers } from '../model/column';
import type { Finding } from '../model/findings';
import { sayNumber } from '../model/words';

/** Things that are counted are many or few, not high or low. */
const COUNTED =
  /(?:^|[_\s./-])(?:num|n|units?|layers?|heads?|epochs?|steps?|filters?|neurons?|trees|blocks?)(?:$|[_\s./-])/i;

/** More values than that nobody chose one by one. */
const MOST_CHOSEN = 12;

/** What is said of a hyperparameter: `high`, `many`, `adam`. */
export function sayLean({ column, lean, word }: Finding): string {
  if (word !== null) return word;
  if (lean === 'middle') return 'medium';
  if (!COUNTED.test(column.title)) return lean ?? '';
  return lean === 'high' ? 'many' : 'few';
}

/** Between which values most of the best are. */
export function sayRange({ column, range }: Finding): string {
  if (!range) return '';
  // Of values that were drawn at random, further digits say nothing and cost time to read.
  const isRandom = column.meaning === 'value' && distinctNumbers(column, MOST_CHOSEN) === null;
  const [low, high] = range.map((end) =>
    sayNumber(column, isRandom ? Number(end.toPrecision(2)) : end),
  );
  return low === high ? `${low}` : `${low} – ${high}`;
}
