import { expect, it } from 'vitest';

import { formatBandwidth, formatFlops } from './rates';

it('says rates by the second', () => {
  expect(formatFlops(4.59e11, 1)).toBe('459 TFLOP/s');
  expect(formatFlops(5, 10)).toBe('500 FLOP/s');
  expect(formatBandwidth(3.4e9, 1)).toBe('3.4 TB/s');
});
