import { expect, test } from 'vitest';

import { compileExpression } from '../../../lib/filter-expression';
import {
  applyFilters,
  type ColumnFilter,
  listMaskRows,
  toRunFilterExpression,
  withFilter,
} from './trial-filters';
import { makeColumn, makeTrialsOf } from './trial-fixtures';

const FILTER_TRIALS = makeTrialsOf(
  makeColumn('lr', [0.1, 0.01, 0.001, null, NaN]),
  makeColumn('opt', ['adam', 'sgd', 'adamw', 'sgd', null]),
);

function passing(rules: Record<string, ColumnFilter>, admitted?: Uint8Array): number[] {
  return [...listMaskRows(applyFilters(FILTER_TRIALS, new Map(Object.entries(rules)), admitted))];
}

test('without rules all pass that are admitted', () => {
  expect(passing({})).toEqual([0, 1, 2, 3, 4]);
  expect(passing({}, Uint8Array.of(0, 1, 0, 1, 0))).toEqual([1, 3]);
});

test('both ends of a range belong to it, and no number is in none', () => {
  expect(passing({ lr: { range: [0.001, 0.01] } })).toEqual([1, 2]);
  expect(passing({ lr: { range: [0, 1], blank: true } })).toEqual([0, 1, 2, 3]);
});

test('values pass by their text, numbers too', () => {
  expect(passing({ opt: { values: ['sgd'] } })).toEqual([1, 3]);
  expect(passing({ lr: { values: ['0.1', '1e-3'] } })).toEqual([0, 2]);
  expect(passing({ opt: { values: [] } })).toEqual([]);
});

test('an expression is matched anywhere, and one that is wrong lets all through', () => {
  expect(passing({ opt: { pattern: '^adam' } })).toEqual([0, 2]);
  expect(passing({ lr: { pattern: '01$' } })).toEqual([1, 2]);
  expect(passing({ opt: { pattern: '(' } })).toEqual([0, 1, 2, 3]);
});

test('all rules have to hold, and those of unknown columns do not count', () => {
  expect(
    passing({ opt: { values: ['sgd'] }, lr: { range: [0, 1] }, gone: { range: [0, 0] } }),
  ).toEqual([1]);
});

test('a rule that says nothing is taken away', () => {
  const rules = withFilter(new Map(), 'lr', { range: [0, 1] });
  expect([...withFilter(rules, 'lr', { pattern: '' })]).toEqual([]);
  expect([...withFilter(rules, 'opt', { values: [] }).keys()]).toEqual(['lr', 'opt']);
  expect([...withFilter(rules, 'lr', null)]).toEqual([]);
});

const KEYS = ['hparam:lr', 'hparam:my opt', 'metric:|val/acc', 'metric:validation|acc', 'name'];
const EXPRESSION_TRIALS = makeTrialsOf(...KEYS.map((key) => makeColumn(key, [1])));

function toExpression(rules: Record<string, ColumnFilter>, how = 'last'): string {
  return toRunFilterExpression(EXPRESSION_TRIALS, new Map(Object.entries(rules)), how);
}

test('rules are said in the language of the run table', () => {
  const said = toExpression({
    'hparam:lr': { range: [1e-5, 0.01] },
    'hparam:my opt': { values: ['adam', 'sgd 2'] },
    'metric:|val/acc': { range: [0.9, 1] },
    name: { pattern: '^a' },
  });
  expect(said).toBe(
    'lr >= 0.00001 and lr <= 0.01 and "my opt" in (adam, "sgd 2") and ' +
      'last("val/acc") >= 0.9 and last("val/acc") <= 1 and name ~ "^a"',
  );
  expect('message' in compileExpression(said)).toBe(false);
});

test('what the run table does not know is left out', () => {
  expect(toExpression({ 'metric:validation|acc': { range: [0, 1] } })).toBe('');
  expect(toExpression({ 'metric:|val/acc': { range: [0, 1] } }, 'mean')).toBe('');
  expect(toExpression({ 'hparam:gone': { range: [0, 1] } })).toBe('');
});
