import { expect, test } from 'vitest';

import { withCard } from './by-card';

test('null takes a card out', () => {
  expect(
    withCard(
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
      'a',
      null,
    ),
  ).toEqual(new Map([['b', 2]]));
});
