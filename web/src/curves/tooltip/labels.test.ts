import { expect, test } from 'vitest';

import { shortLabels } from './labels';

test.each([
  [
    ['sweep/a/train', 'sweep/b/train'],
    ['a/train', 'b/train'],
  ],
  [
    ['sweep/a', 'other'],
    ['sweep/a', 'other'],
  ],
  [
    ['a/b/c', 'a/bc/d'],
    ['b/c', 'bc/d'],
  ],
  [['sweep/only'], ['sweep/only']],
  [[], []],
])('%j become %j', (labels, short) => {
  expect([...shortLabels(labels).values()]).toEqual(short);
});
