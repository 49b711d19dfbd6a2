import { expect, test } from 'vitest';

import { compareNatural } from './natural';

test('numbers in names count as numbers', () => {
  const names = ['run10', 'run2', 'run1', 'a/b', 'run2/train'];
  expect(names.sort(compareNatural)).toEqual(['a/b', 'run1', 'run2', 'run2/train', 'run10']);
});
