import { describe, expect, test } from 'vitest';

import { compileExpression, type FilterSubject, type FieldValue } from './filter-expression';

const run = (name: string, values: Record<string, FieldValue> = {}): FilterSubject => ({
  searchText: name.toLowerCase(),
  getValue: (key) => (key === 'name' ? name : (values[key] ?? null)),
});

const RUNS = [
  run('conv/a', { 'hparam:lr': 0.001, 'hparam:optimizer': 'Adam', labels: ['best', 'paper'] }),
  run('conv/b', { 'hparam:lr': 0.01, 'hparam:optimizer': 'sgd', note: 'Diverged early' }),
  run('vit/c', { 'hparam:lr': 0.1, 'hparam:bn': true, 'last:val/acc': 0.93, duration: 5400 }),
  run('vit/d', { 'last:val/acc': 0.4, start: Date.parse('2026-05-02T10:00:00Z') / 1000 }),
];

function pick(text: string): string {
  const compiled = compileExpression(text);
  if ('message' in compiled) return compiled.message;
  return RUNS.filter(compiled.matches)
    .map(({ searchText }) => searchText.at(-1))
    .join('');
}

test.each([
  ['', 'abcd'],
  ['lr < 0.01', 'a'],
  ['lr <= 0.01', 'ab'],
  ['lr>0.001', 'bc'],
  ['lr >= 0.01 and vit', 'c'],
  ['lr = 1e-3', 'a'],
  ['lr == .001', 'a'],
  ['lr != 0.001', 'bcd'],
  ['CONV', 'ab'],
  ['vit d', 'd'],
  ['conv or vit d', 'abd'],
  ['(conv or vit) lr > 0.005', 'bc'],
  ['not conv', 'cd'],
  ['not (conv or c)', 'd'],
  ['name ~ "^conv/[b-z]"', 'b'],
  ["name ~ '(a|d)$'", 'ad'],
  ['tag:best', 'a'],
  ['label:BEST and lr < 1', 'a'],
  ['labels = paper', 'a'],
  ['tag:bes or note:"diverged early"', 'ab'],
  ['optimizer = adam', 'a'],
  ['optimizer in (adam, SGD)', 'ab'],
  ['optimizer in ["sgd"]', 'b'],
  ['optimizer not in (adam)', 'bcd'],
  ['bn = true', 'c'],
  ['last("val/acc") > 0.9', 'c'],
  ['last(val/acc) < 0.5 or max("x") > 1', 'd'],
  ['duration > 1h', 'c'],
  ['duration > 2h', ''],
  ['start > 2026-05-01', 'd'],
  ['start < 2026-05', ''],
  ['unknown < 3', ''],
])('%s', (text, expected) => {
  expect(pick(text)).toBe(expected);
});

describe('errors report their position', () => {
  test.each([
    ['lr <', 'Expected a value after “<” (at the end)'],
    ['(conv', 'Unclosed “(” (at character 1)'],
    ['conv) or a', 'Unmatched “)” (at character 5)'],
    ['a or', 'Expected a name or a value (at the end)'],
    ['name ~ "(x"', 'Invalid regular expression: Unterminated group (at character 8)'],
    ['note:"x', 'Unclosed quote " (at character 6)'],
    ['lr ! 3', 'Unexpected “!” (at character 4)'],
    ['lr in 3', 'Expected a list such as (adam, sgd) after “in” (at character 7)'],
    ['lr in (3, 4', 'Unclosed list (at character 7)'],
    ['last("acc")', 'Expected a comparison after last(…) (at character 1)'],
    ['last("acc" > 3', 'Expected “)” after last("acc" (at character 12)'],
  ])('%s', (text, sentence) => {
    expect(pick(text)).toBe(sentence);
  });
});

test('fields list the columns to request', () => {
  const compiled = compileExpression('lr < 1 and (last("acc") > 2 or not name ~ x)');
  expect('fields' in compiled && compiled.fields.map(({ key, offset }) => [key, offset])).toEqual([
    ['hparam:lr', 0],
    ['last:acc', 12],
    ['name', 35],
  ]);
});
