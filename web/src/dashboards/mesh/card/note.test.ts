import { expect, test } from 'vitest';

import { noteOf } from './note';

const row = { count: 100, overwritten: 10 };
const steps = Float64Array.of(0, 5, 1000);

test('what is not shown is told first', () => {
  expect(noteOf(row, steps, { runsLeft: 0, isCopy: false })).toEqual({
    text: '3 steps, the last is 1,000',
  });
  expect(noteOf(row, steps, { runsLeft: 3, isCopy: false }).text).toBe('and 3 more runs');
  expect(noteOf(row, steps, { runsLeft: 0, isCopy: true }).text).toBe('3 of 90 steps in this copy');
  expect(noteOf(row, new Float64Array(), { runsLeft: 0, isCopy: true }).text).toBe('');
});
