import { expect, test } from 'vitest';

import { distinctLabels } from './labels';

test('only what differs is left of names', () => {
  expect(distinctLabels(['sweep/lr=0.01/validation', 'sweep/lr=0.1/validation'])).toEqual([
    'lr=0.01',
    'lr=0.1',
  ]);
  expect(distinctLabels(['a/train', 'a/validation'])).toEqual(['train', 'validation']);
});

test('one name is itself, and no name becomes empty', () => {
  expect(distinctLabels(['a/b'])).toEqual(['a/b']);
  expect(distinctLabels(['a', 'a/b'])).toEqual(['a', 'a/b']);
  expect(distinctLabels(['x/a', 'x/a'])).toEqual(['a', 'a']);
});
