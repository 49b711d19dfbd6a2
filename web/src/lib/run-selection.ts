import type { Codec } from './codecs';

/**
 * Encode run names for a URL: `conv/{lr1e-3,lr3e-4},vit`. Common path prefixes are written once.
 * Special characters are escaped with a backslash, and `\e` is an empty part. Semicolons are always
 * escaped, so that they can separate lists.
 */
export function packNames(names: Iterable<string>): string {
  return packParts([...names].sort().map((name) => name.split('/')));
}

/** Decode the result of `packNames`; invalid text is decoded as far as possible. */
export function unpackNames(text: string): string[] {
  return text === '' ? [] : new NameListParser(text).readList();
}

type Parts = readonly string[];

function packParts(names: readonly Parts[]): string {
  return splitByFirst(names).map(packSiblings).join(',');
}

function packSiblings(siblings: readonly Parts[]): string {
  const [first = []] = siblings;
  if (siblings.length === 1) return first.map(escapePart).join('/');
  return `${escapePart(first[0] ?? '')}/{${packParts(siblings.map((parts) => parts.slice(1)))}}`;
}

/** Group names by their first part; names without a slash stay alone. */
function splitByFirst(names: readonly Parts[]): Parts[][] {
  const folders = new Map<string, Parts[]>();
  const alone: Parts[][] = [];
  for (const parts of names) {
    const siblings = folders.get(parts[0] ?? '');
    if (parts.length === 1) alone.push([parts]);
    else if (siblings) siblings.push(parts);
    else folders.set(parts[0] ?? '', [parts]);
  }
  return [...folders.values(), ...alone];
}

function escapePart(part: string): string {
  return part === '' ? '\\e' : part.replace(/[\\{},;]/g, '\\$&');
}

class NameListParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readList(): string[] {
    const names = this.#readEntry();
    while (this.#take(',')) names.push(...this.#readEntry());
    return names;
  }

  #readEntry(): string[] {
    const name = this.#readText();
    if (!this.#take('{')) return [name];
    const below = this.readList();
    this.#take('}');
    return below.map((rest) => name + rest);
  }

  #readText(): string {
    let text = '';
    while (this.#at < this.#text.length && !',{}'.includes(this.#text[this.#at] ?? '')) {
      const sign = this.#text[this.#at++] ?? '';
      text += sign === '\\' ? this.#readEscaped() : sign;
    }
    return text;
  }

  #readEscaped(): string {
    const sign = this.#text[this.#at++] ?? '';
    return sign === 'e' ? '' : sign;
  }

  #take(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }
}

/**
 * Which runs are selected: a rule and exceptions to it. This keeps URLs short and defines whether
 * runs that appear later are selected.
 */
export interface SelectionState {
  readonly rule: SelectionRule;
  readonly on: ReadonlySet<string>;
  readonly off: ReadonlySet<string>;
}

/** `auto` selects all runs of a small log and the newest ones of a large log. */
export type SelectionRule = 'auto' | 'all' | 'none' | { readonly newest: number };

/** More lines are neither readable nor fast to draw. */
export const MAX_AUTO_SELECTED = 500;
const NEWEST_SELECTED = 100;

export function makeSelection(
  rule: SelectionRule,
  on: Iterable<string> = [],
  off: Iterable<string> = [],
): SelectionState {
  return { rule, on: new Set(on), off: new Set(off) };
}

export const AUTO_SELECTION = makeSelection('auto');

/** Return how many of the newest of `count` runs a rule selects. */
export function countNewest(rule: SelectionRule, count: number): number {
  if (rule === 'auto') return count <= MAX_AUTO_SELECTED ? count : NEWEST_SELECTED;
  if (rule === 'all') return count;
  return rule === 'none' ? 0 : rule.newest;
}

/** Return the names of the first `count` matching runs. */
export function takeFirstNames<Run extends { readonly name: string }>(
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

/** Select exactly these runs, with the rule that needs fewer exceptions. */
export function selectExactly(wanted: ReadonlySet<string>, all: readonly string[]): SelectionState {
  const left = all.filter((name) => !wanted.has(name));
  return left.length < wanted.size ? makeSelection('all', [], left) : makeSelection('none', wanted);
}

/** Return `selection` with these runs selected or deselected. */
export function withSelected(
  selection: SelectionState,
  names: Iterable<string>,
  ticked: boolean,
): SelectionState {
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

/** `all;+vit;-conv/{a,b}`: the rule, selected runs, deselected runs. */
export const selectionCodec: Codec<SelectionState> = {
  parse(text) {
    const [word = '', ...lists] = text.match(/(?:[^\\;]|\\.)+/g) ?? [];
    const rule = parseRule(word);
    const read = (sign: string): string[] =>
      lists.filter((list) => list[0] === sign).flatMap((list) => unpackNames(list.slice(1)));
    return rule === null ? AUTO_SELECTION : makeSelection(rule, read('+'), read('-'));
  },
  format({ rule, on, off }) {
    const parts = [typeof rule === 'string' ? rule : `newest-${rule.newest}`];
    if (on.size > 0) parts.push(`+${packNames(on)}`);
    if (off.size > 0) parts.push(`-${packNames(off)}`);
    return parts.join(';');
  },
};

function parseRule(word: string): SelectionRule | null {
  if (word === 'auto' || word === 'all' || word === 'none') return word;
  const newest = /^newest-(\d+)$/.exec(word)?.[1];
  return newest === undefined ? null : { newest: Number(newest) };
}
