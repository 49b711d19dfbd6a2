import { describe, expect, it } from 'vitest';

import { formatShare } from './words';

describe('shares', () => {
  it.each([
    [0, '0 %'],
    [0.868, '86.8 %'],
    [0.0004, '< 0.1 %'],
    [0.9999, '> 99.9 %'],
    [1, '100 %'],
  ])('of %d read as %s', (share, words) => expect(formatShare(share)).toBe(words));
});
