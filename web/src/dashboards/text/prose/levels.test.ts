import { expect, test } from 'vitest';

import { lowerLevels } from './levels';

test.each([
  [[], []],
  [
    [1, 2, 2, 1],
    [4, 5, 5, 4],
  ],
  [[2], [4]],
  [
    [1, 3, 6],
    [4, 5, 6],
  ],
  [
    [4, 1, 4],
    [4, 4, 5],
  ],
])('headings %j stand at %j below a card', (levels, lowered) => {
  expect(lowerLevels(levels, 3)).toEqual(lowered);
});
