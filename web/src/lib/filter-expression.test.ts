import { describe, expect, test } from 'vitest';

import { compileExpression, type FilterSubject, type FieldValue } from './filter-expression';

interface Examples {
  readonly matches: readonly [text: string, expected: string][];
  readonly errors: readonly [text: string, sentence: string][];
}

/** The same examples test the expressions of the server. */
const [examples] = Object.values(
  import.meta.glob<Examples>('../../../tests/data/filter_expressions.json', {
    eager: true,
    import: 'default',
  }),
) as [Examples];

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

test.each(examples.matches)('%s', (text, expected) => {
  expect(pick(text)).toBe(expected);
});

test('a field that no run has matches nothing', () => {
  expect(pick('unknown < 3 or max("x") > 1')).toBe('');
});

describe('errors report their position', () => {
  test.each([
    ...examples.errors,
    ['name ~ "(x"', 'Invalid regular expression: Unterminated group (at character 8)'],
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
