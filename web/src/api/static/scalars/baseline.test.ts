import { expect, test } from 'vitest';

import { compare, makeBaseline } from './baseline';
import { look } from './curve';
import { makeSeries } from './samples';

const base = makeBaseline(look(makeSeries('base', [2, NaN, 4]), 'step', null, null));

test('runs are compared where the baseline has values', () => {
  const run = look(
    makeSeries('a', [3, 6, 9, 9], { step: Float64Array.of(0, 10, 20, 30) }),
    'step',
    null,
    null,
  );
  expect([...compare(run, base, 'difference').value]).toEqual([1, 3, 5]);
  expect([...compare(run, base, 'ratio').value]).toEqual([1.5, 2, 2.25]);
});

test('without a baseline there is nothing to see', () => {
  const run = look(makeSeries('a', [3, 6]), 'step', null, null);
  expect(compare(run, undefined, 'ratio').x.length).toBe(0);
});
