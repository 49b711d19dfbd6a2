import { expect, it } from 'vitest';

import { getCounterValue, makeCounterPath } from './counter-path';

const COUNTER = {
  times: Float64Array.of(0, 50, 80),
  values: Float64Array.of(2, 4, 0),
  peak: 4,
};

it('draws a step at each change', () => {
  expect(makeCounterPath(COUNTER, { start: 0, end: 100 }, 200, 23)).toBe(
    'M0.0 23V13.0H100.0V3.0H160.0V23.0H200.0V23Z',
  );
});

it('draws nothing of a counter that is always 0', () => {
  const empty = { times: Float64Array.of(0), values: Float64Array.of(0), peak: 0 };
  expect(makeCounterPath(empty, { start: 0, end: 100 }, 200, 23)).toBe('');
});

it('has the last value at or before a time', () => {
  expect([-1, 0, 49, 50, 90].map((time) => getCounterValue(COUNTER, time))).toEqual([
    0, 2, 2, 4, 0,
  ]);
});
