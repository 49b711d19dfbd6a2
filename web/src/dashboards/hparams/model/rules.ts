import { compileFilter } from '../../../base/filter';
import { type Column, hasValue, type Sessions } from './column';

/** What a column lets through; all that is said has to hold. */
export interface Rule {
  /** Both ends belong to it. */
  readonly range?: readonly [number, number];
  /** The values that pass, as text. */
  readonly values?: readonly string[];
  /** A regular expression that has to match the value as text. */
  readonly pattern?: string;
  /** Sessions without a value pass as well. */
  readonly blank?: boolean;
}

/** Rules by the key of their column. */
export type Rules = ReadonlyMap<string, Rule>;

export const NO_RULES: Rules = new Map();

/** 1 for each session that passes all rules, of those that are `admitted` at all. */
export function findPassing(sessions: Sessions, rules: Rules, admitted?: Uint8Array): Uint8Array {
  const passing = admitted?.slice() ?? new Uint8Array(sessions.count).fill(1);
  for (const [key, rule] of rules) {
    const column = sessions.find(key);
    if (column) applyRule(column, rule, passing);
  }
  return passing;
}

/** The places of the sessions that pass. */
export function rowsOf(passing: Uint8Array): Int32Array {
  const rows = new Int32Array(passing.length);
  let count = 0;
  for (let row = 0; row < passing.length; row++) if (passing[row]) rows[count++] = row;
  return rows.subarray(0, count);
}

function applyRule(column: Column, rule: Rule, passing: Uint8Array): void {
  const { numbers } = column;
  const holds = testOf(column, rule);
  const blank = rule.blank ? 1 : 0;
  for (let row = 0; row < passing.length; row++) {
    if (!passing[row]) continue;
    passing[row] = hasValue(column, row) ? Number(holds(numbers[row] ?? NaN)) : blank;
  }
}

function testOf(column: Column, rule: Rule): (number: number) => boolean {
  const tests = [
    ...(rule.range ? [inRange(rule.range)] : []),
    ...(rule.values ? [amongValues(column, rule.values)] : []),
    ...(rule.pattern ? [byPattern(column, rule.pattern)] : []),
  ];
  const [only] = tests;
  if (tests.length === 1 && only) return only;
  return (number) => tests.every((test) => test(number));
}

function inRange([low, high]: readonly [number, number]): (number: number) => boolean {
  return (number) => number >= low && number <= high;
}

function amongValues(column: Column, values: readonly string[]): (number: number) => boolean {
  const { words } = column;
  const wanted = new Set(words ? values.map((value) => words.indexOf(value)) : values.map(Number));
  return (number) => wanted.has(number);
}

function byPattern({ words }: Column, text: string): (number: number) => boolean {
  const { matches } = compileFilter({ text, regex: true });
  // Each word is looked at once, however many sessions have it.
  const known = new Map<number, boolean>();
  return (number) => {
    const before = known.get(number);
    if (before !== undefined) return before;
    const found = matches(words ? (words[number] ?? '') : String(number));
    known.set(number, found);
    return found;
  };
}

/** The rules with another one for a column; a rule that says nothing is taken away. */
export function withRule(rules: Rules, key: string, rule: Rule | null): Rules {
  const others = [...rules].filter(([other]) => other !== key);
  if (rule === null || isEmpty(rule)) return new Map(others);
  return rules.has(key)
    ? new Map([...rules].map(([other, said]) => [other, other === key ? rule : said]))
    : new Map([...others, [key, rule]]);
}

function isEmpty({ range, values, pattern }: Rule): boolean {
  return !range && !values && !pattern;
}
