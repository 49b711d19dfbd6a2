import { describe, expect, it } from 'vitest';

import { formatExactly, formatPs, marksOf } from './times';

describe('times', () => {
  it('have four digits and the unit that suits them', () => {
    expect([0, 5, 1234, 7_444_000, 49_216_000_000, 2.705e12, -3e9].map(formatPs)).toEqual([
      '0',
      '5 ps',
      '1.234 ns',
      '7.444 µs',
      '49.22 ms',
      '2.705 s',
      '−3 ms',
    ]);
  });

  it('can be told to the last digit', () => {
    expect(formatExactly(49_216_000_123)).toBe('49.216000123 ms');
  });

  it('along the axis share one unit and as many digits as tell them apart', () => {
    const texts = (start: number, end: number): string[] =>
      marksOf({ start, end }, 5).map(({ text }) => text);
    expect(texts(0, 6e11)).toEqual([
      '0 ms',
      '100 ms',
      '200 ms',
      '300 ms',
      '400 ms',
      '500 ms',
      '600 ms',
    ]);
    expect(texts(1.4e12, 1.4e12 + 4e6)).toContain('1400.001 ms');
  });
});
