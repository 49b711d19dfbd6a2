import { expect, test } from 'vitest';

import { compileExpression } from '../../../lib/filter-expression';
import {
  applyFilters,
  type ColumnFilter,
  listMaskRows,
  startBrushDrag,
  toRunFilterExpression,
  withFilter,
} from './trial-filters';
import { makeColumn, makeTrialsOf } from './trial-test-tools';

const FILTER_TRIALS = makeTrialsOf(
  makeColumn('lr', [0.1, 0.01, 0.001, null, NaN]),
  makeColumn('opt', ['adam', 'sgd', 'adamw', 'sgd', null]),
);

function passing(filters: Record<string, ColumnFilter>, mask?: Uint8Array): number[] {
  return [...listMaskRows(applyFilters(FILTER_TRIALS, new Map(Object.entries(filters)), mask))];
}

test('without filters, all trials of the mask pass', () => {
  expect(passing({})).toEqual([0, 1, 2, 3, 4]);
  expect(passing({}, Uint8Array.of(0, 1, 0, 1, 0))).toEqual([1, 3]);
});

test('ranges are inclusive and exclude NaN', () => {
  expect(passing({ lr: { range: [0.001, 0.01] } })).toEqual([1, 2]);
  expect(passing({ lr: { range: [0, 1], blank: true } })).toEqual([0, 1, 2, 3]);
});

test('accepted values are compared as text for categories and as numbers for numbers', () => {
  expect(passing({ opt: { values: ['sgd'] } })).toEqual([1, 3]);
  expect(passing({ lr: { values: ['0.1', '1e-3'] } })).toEqual([0, 2]);
  expect(passing({ opt: { values: [] } })).toEqual([]);
});

test('a pattern matches anywhere in the value; an invalid one accepts all', () => {
  expect(passing({ opt: { pattern: '^adam' } })).toEqual([0, 2]);
  expect(passing({ lr: { pattern: '01$' } })).toEqual([1, 2]);
  expect(passing({ opt: { pattern: '(' } })).toEqual([0, 1, 2, 3]);
});

test('all filters have to hold; filters of unknown columns are ignored', () => {
  expect(
    passing({ opt: { values: ['sgd'] }, lr: { range: [0, 1] }, gone: { range: [0, 0] } }),
  ).toEqual([1]);
});

test('an empty filter is removed', () => {
  const filters = withFilter(new Map(), 'lr', { range: [0, 1] });
  expect([...withFilter(filters, 'lr', { pattern: '' })]).toEqual([]);
  expect([...withFilter(filters, 'opt', { values: [] }).keys()]).toEqual(['lr', 'opt']);
  expect([...withFilter(filters, 'lr', null)]).toEqual([]);
});

test('a drag moves an end, moves the whole brush, or creates a new one', () => {
  expect(startBrushDrag([0.2, 0.6], 0.6, 100)(0.9)).toEqual([0.2, 0.9]);
  expect(startBrushDrag([0.2, 0.6], 0.2, 100)(0.7)).toEqual([0.6, 0.7]);
  expect(startBrushDrag([0.2, 0.6], 0.4, 100)(0.9)).toEqual([
    expect.closeTo(0.6),
    expect.closeTo(1),
  ]);
  expect(startBrushDrag([0.2, 0.6], 0.9, 100)(0.7)).toEqual([0.7, 0.9]);
  expect(startBrushDrag(null, 0.5, 100)(0.1)).toEqual([0.1, 0.5]);
});

const KEYS = ['hparam:lr', 'hparam:my opt', 'metric:|val/acc', 'metric:validation|acc', 'name'];
const EXPRESSION_TRIALS = makeTrialsOf(...KEYS.map((key) => makeColumn(key, [1])));

function toExpression(filters: Record<string, ColumnFilter>, reduction = 'last'): string {
  return toRunFilterExpression(EXPRESSION_TRIALS, new Map(Object.entries(filters)), reduction);
}

test('filters become an expression of the run filter', () => {
  const expression = toExpression({
    'hparam:lr': { range: [1e-5, 0.01] },
    'hparam:my opt': { values: ['adam', 'sgd 2'] },
    'metric:|val/acc': { range: [0.9, 1] },
    name: { pattern: '^a' },
  });
  expect(expression).toBe(
    'lr >= 0.00001 and lr <= 0.01 and "my opt" in (adam, "sgd 2") and ' +
      'last("val/acc") >= 0.9 and last("val/acc") <= 1 and name ~ "^a"',
  );
  expect('message' in compileExpression(expression)).toBe(false);
});

test('filters that the run filter does not support are omitted', () => {
  expect(toExpression({ 'metric:validation|acc': { range: [0, 1] } })).toBe('');
  expect(toExpression({ 'metric:|val/acc': { range: [0, 1] } }, 'mean')).toBe('');
  expect(toExpression({ 'hparam:gone': { range: [0, 1] } })).toBe('');
});
