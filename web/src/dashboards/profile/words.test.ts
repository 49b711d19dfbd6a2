import { describe, expect, it } from 'vitest';

import { formatMs, formatShare, formatUs } from './words';

describe('times', () => {
  it.each([
    [0, '0 ms'],
    [49.23, '49.2 ms'],
    [1203.6, '1.2 s'],
    [0.0384, '38.4 µs'],
    [0.00002, '20 ns'],
    [-12.345, '−12.3 ms'],
  ])('of %d ms read as %s', (ms, words) => expect(formatMs(ms)).toBe(words));

  it('are the same from microseconds on', () => expect(formatUs(49_230)).toBe('49.2 ms'));
});

describe('shares', () => {
  it.each([
    [0, '0 %'],
    [0.868, '86.8 %'],
    [0.0004, '< 0.1 %'],
    [0.9999, '> 99.9 %'],
    [1, '100 %'],
  ])('of %d read as %s', (share, words) => expect(formatShare(share)).toBe(words));
});
