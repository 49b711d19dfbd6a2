import { expect, test } from 'vitest';

import { cardSetCodec, hasCard, NO_CARDS, toggleCard, withCardValue } from './grid-settings';

test('null removes a card', () => {
  expect(
    withCardValue(
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
      'a',
      null,
    ),
  ).toEqual(new Map([['b', 2]]));
});

test('a card set lists cards, or all cards with exceptions', () => {
  const some = toggleCard(toggleCard(NO_CARDS, 'a'), 'b,c');
  expect(cardSetCodec.format(some)).toBe('a,b\\,c');
  expect(hasCard(cardSetCodec.parse('a,b\\,c'), 'b,c')).toBe(true);
  const most = toggleCard({ all: true, named: [] }, 'a');
  expect(cardSetCodec.format(most)).toBe('*,a');
  expect([hasCard(most, 'a'), hasCard(most, 'b')]).toEqual([false, true]);
});
