import { expect, test } from 'vitest';

import { select } from './quantile';

test('finds what sorting would put at a rank', () => {
  const values = Float64Array.from({ length: 999 }, (_, at) => (at * 7919) % 1009);
  const sorted = values.slice().sort();
  for (const rank of [0, 1, 49, 500, 949, 998])
    expect(select(values.slice(), rank)).toBe(sorted[rank]);
});

test('equal values end', () => {
  expect(select(new Float64Array(100).fill(3), 50)).toBe(3);
});
