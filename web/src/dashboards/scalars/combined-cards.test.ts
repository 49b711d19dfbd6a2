import { expect, test } from 'vitest';

import {
  combineCards,
  makeCombinedId,
  parseCombinedCard,
  formatRegexCard,
  toggleRightAxis,
  withoutTag,
} from './combined-cards';

const KNOWN = ['a,b', 'eval/loss', 'train/acc', 'train/loss'];

test('a recipe names tags, and those for the right axis', () => {
  const card = parseCombinedCard('a\\,b,>train/loss', KNOWN);
  expect(card.tags).toEqual(['a,b', 'train/loss']);
  expect(card.right).toEqual(['train/loss']);
  expect(card.title).toBe('a,b + train/loss');
  expect(card.id).toBe(makeCombinedId('a\\,b,>train/loss'));
});

test('an expression stands for the tags that it matches', () => {
  const card = parseCombinedCard(formatRegexCard('loss$'), KNOWN);
  expect(card.tags).toEqual(['eval/loss', 'train/loss']);
  expect(card.title).toBe('/loss$/');
  expect(parseCombinedCard(formatRegexCard('(loss'), KNOWN).tags).toEqual([]);
});

test('two cards become one with each tag once', () => {
  const one = parseCombinedCard('train/acc,>train/loss', KNOWN);
  const other = parseCombinedCard('train/loss,eval/loss', KNOWN);
  expect(combineCards(one, other)).toBe('train/acc,>train/loss,eval/loss');
});

test('a tag changes sides, and goes', () => {
  const card = parseCombinedCard('train/acc,>train/loss', KNOWN);
  expect(toggleRightAxis(card, 'train/acc')).toBe('>train/acc,>train/loss');
  expect(toggleRightAxis(card, 'train/loss')).toBe('train/acc,train/loss');
  expect(withoutTag(card, 'train/acc')).toBe('>train/loss');
});
