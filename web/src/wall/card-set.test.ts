import { expect, test } from 'vitest';

import { cardSet, includes, NO_CARDS, toggle } from './card-set';

test('a set of cards is some, or all but some', () => {
  const some = toggle(toggle(NO_CARDS, 'a'), 'b,c');
  expect(cardSet.format(some)).toBe('a,b\\,c');
  expect(includes(cardSet.parse('a,b\\,c'), 'b,c')).toBe(true);
  const most = toggle({ all: true, named: [] }, 'a');
  expect(cardSet.format(most)).toBe('*,a');
  expect([includes(most, 'a'), includes(most, 'b')]).toEqual([false, true]);
});
