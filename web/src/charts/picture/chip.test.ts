import { expect, test } from 'vitest';

import { shorten } from './chip';

const pen = { widthOf: (text: string): number => text.length * 6 };

test('what fits stays, what does not ends in dots', () => {
  expect(shorten(pen, 'warm-up', 60)).toBe('warm-up');
  expect(shorten(pen, 'lr warm-up ends', 60)).toBe('lr warm…');
  expect(shorten(pen, 'lr warm-up ends', 0)).toBe('l…');
});
