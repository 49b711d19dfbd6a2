import { expect, test } from 'vitest';

import { isConditions, makeConditionMask } from '../what_if/conditions';
import { toUrlCondition } from './slice-datapoints';

const NONE = { value: null, low: null, high: null, is_missing: false, is_closed: false };

test('conditions have the form that What-If reads from the URL', () => {
  const conditions = [
    { ...NONE, column: 'sex', value: 'f' },
    { ...NONE, column: 'age', low: 20, high: 30 },
    { ...NONE, column: 'height', high: 170, is_closed: true },
    { ...NONE, column: 'city', is_missing: true },
  ].map(toUrlCondition);
  expect(conditions).toEqual([
    { column: 'sex', value: 'f' },
    { column: 'age', low: 20, high: 30 },
    { column: 'height', high: 170, isClosed: true },
    { column: 'city', value: null },
  ]);
  expect(isConditions(JSON.parse(JSON.stringify(conditions)))).toBe(true);
});

test('slices of booleans select rows', () => {
  const column = {
    name: 'old',
    numbers: Float64Array.of(1, 0, NaN, 1),
    codes: null,
    categories: [],
  };
  const condition = toUrlCondition({ ...NONE, column: 'old', value: 'True' });
  const mask = makeConditionMask([condition], new Map([['old', column]]), 4);
  expect([...(mask ?? [])]).toEqual([1, 0, 0, 1]);
});
