import { expect, test } from 'vitest';

import { smooth } from './smooth';

const values = Float64Array.of(1, 2, NaN, 4, 3);
const steps = Float64Array.of(0, 1, 2, 4, 8);

const rounded = (column: Float64Array): number[] =>
  [...column].map((value) => Number(value.toFixed(6)));

/** Worked out by the server's own smoothers. */
test.each([
  ['ema', 0.5, [1, 1.666667, NaN, 3, 3]],
  ['time_ema', 2, [1, 1.585786, NaN, 3.091326, 3.026135]],
  ['mean', 3, [1.5, 1.5, NaN, 3.5, 3.5]],
  ['median', 4, [1.5, 1.5, NaN, 3, 3.5]],
  ['gaussian', 1, [1.395883, 1.814743, NaN, 3.480581, 3.36759]],
] as const)('%s smooths as the server does', (kind, amount, smoothed) => {
  expect(rounded(smooth(values, steps, { kind, amount }))).toEqual(smoothed);
});

test('what never changes stays as it is', () => {
  const flat = Float64Array.of(0.1, 0.1, 0.1);
  expect(smooth(flat, flat, { kind: 'ema', amount: 0.9 })).toBe(flat);
});
