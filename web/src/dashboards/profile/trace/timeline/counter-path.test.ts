import { expect, it } from 'vitest';

import { getCounterValue, makeCounterPath } from './counter-path';

const COUNTER = {
  times: Float64Array.of(0, 50, 80),
  values: Float64Array.of(2, 4, 0),
  peak: 4,
  low: 0,
};

it('draws a step at each change', () => {
  expect(makeCounterPath(COUNTER, { start: 0, end: 100 }, 200, 23)).toBe(
    'M0.0 23.0V13.0H100.0V3.0H160.0V23.0H200.0V23.0Z',
  );
});

it('draws negative values below 0', () => {
  const signed = { ...COUNTER, values: Float64Array.of(2, -4, 4), low: -4 };
  expect(makeCounterPath(signed, { start: 0, end: 100 }, 100, 43)).toBe(
    'M0.0 23.0V13.0H50.0V43.0H80.0V3.0H100.0V23.0Z',
  );
});

it('starts with the first value of a recorded counter', () => {
  const late = { ...COUNTER, times: Float64Array.of(50, 80), values: Float64Array.of(4, 0) };
  expect(makeCounterPath(late, { start: 0, end: 100 }, 100, 23)).toBe(
    'M50.0 23.0V3.0H80.0V23.0H100.0V23.0Z',
  );
});

it('draws nothing of a counter that is always 0', () => {
  const empty = { times: Float64Array.of(0), values: Float64Array.of(0), peak: 0, low: 0 };
  expect(makeCounterPath(empty, { start: 0, end: 100 }, 200, 23)).toBe('');
});

it('has the last value at or before a time', () => {
  expect([-1, 0, 49, 50, 90].map((time) => getCounterValue(COUNTER, time))).toEqual([
    null,
    2,
    2,
    4,
    0,
  ]);
});
