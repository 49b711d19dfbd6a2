import type { TagRow } from '../../../api/types';
import { formatExact, formatStep, plural } from '../../../base/format';
import type { CardNote } from '../../../wall/card';

/** What is said beside the title of a card: how many steps there are, and what is not shown. */
export function noteOf(
  { count, overwritten }: Pick<TagRow, 'count' | 'overwritten'>,
  steps: Float64Array,
  { runsLeft, isCopy }: { readonly runsLeft: number; readonly isCopy: boolean },
): CardNote {
  const last = steps.at(-1);
  if (last === undefined) return { text: '' };
  const logged = count - overwritten;
  const told = `${plural(steps.length, 'step', formatExact)}, the last is ${formatStep(last)}`;
  if (runsLeft > 0) {
    return { text: `and ${plural(runsLeft, 'more run')}`, inFull: told, always: true };
  }
  if (isCopy && steps.length < logged) {
    const part = `${formatExact(steps.length)} of ${formatExact(logged)} steps in this copy`;
    return { text: part, inFull: told, always: true };
  }
  return { text: told };
}
