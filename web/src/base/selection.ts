import type { Codec } from './codec';
import { packNames, unpackNames } from './names';

/**
 * Which runs are ticked: a rule, and the runs that are so or not whatever it says. An address stays
 * short with it, and it says what shall become of runs that are yet to come.
 */
export interface Selection {
  readonly rule: Rule;
  readonly on: ReadonlySet<string>;
  readonly off: ReadonlySet<string>;
}

/** `auto` is every run of a small log and the newest of a large one. */
export type Rule = 'auto' | 'all' | 'none' | { readonly newest: number };

/** More lines than this say nothing, and take long to draw. */
const MANY_RUNS = 500;
const NEWEST_OF_MANY = 100;

export function select(
  rule: Rule,
  on: Iterable<string> = [],
  off: Iterable<string> = [],
): Selection {
  return { rule, on: new Set(on), off: new Set(off) };
}

export const AUTO = select('auto');

/** How many of the newest runs the rule ticks, when there are `count` of them. */
export function reachOf(rule: Rule, count: number): number {
  if (rule === 'auto') return count <= MANY_RUNS ? count : NEWEST_OF_MANY;
  if (rule === 'all') return count;
  return rule === 'none' ? 0 : rule.newest;
}

/** Names of the first `count` runs that are meant. */
export function takeFirst<Run extends { readonly name: string }>(
  runs: readonly Run[],
  isMeant: (run: Run) => boolean,
  count: number,
): Set<string> {
  const taken = new Set<string>();
  for (const run of runs) {
    if (taken.size === count) break;
    if (isMeant(run)) taken.add(run.name);
  }
  return taken;
}

/** Ticks exactly these of the runs, with the rule that needs fewer exceptions. */
export function selectExactly(wanted: ReadonlySet<string>, all: readonly string[]): Selection {
  const left = all.filter((name) => !wanted.has(name));
  return left.length < wanted.size ? select('all', [], left) : select('none', wanted);
}

/** As `selection`, but with these runs ticked or not. */
export function withTicks(
  selection: Selection,
  names: Iterable<string>,
  ticked: boolean,
): Selection {
  const on = new Set(selection.on);
  const off = new Set(selection.off);
  const [joined, left] = ticked ? [on, off] : [off, on];
  const ruleSaysSo = selection.rule === (ticked ? 'all' : 'none');
  for (const name of names) {
    left.delete(name);
    if (!ruleSaysSo) joined.add(name);
  }
  return { rule: selection.rule, on, off };
}

/** `all;-vit,conv/{a,b}`: the rule, then what is on, then what is off. */
export const selectionCodec: Codec<Selection> = {
  parse(text) {
    const [word = '', ...lists] = text.match(/(?:[^\\;]|\\.)+/g) ?? [];
    const rule = readRule(word);
    const read = (sign: string): string[] =>
      lists.filter((list) => list[0] === sign).flatMap((list) => unpackNames(list.slice(1)));
    return rule === null ? AUTO : select(rule, read('+'), read('-'));
  },
  format({ rule, on, off }) {
    const parts = [typeof rule === 'string' ? rule : `newest-${rule.newest}`];
    if (on.size > 0) parts.push(`+${packNames(on)}`);
    if (off.size > 0) parts.push(`-${packNames(off)}`);
    return parts.join(';');
  },
};

function readRule(word: string): Rule | null {
  if (word === 'auto' || word === 'all' || word === 'none') return word;
  const newest = /^newest-(\d+)$/.exec(word)?.[1];
  return newest === undefined ? null : { newest: Number(newest) };
}
