import { expect, test } from 'vitest';

import { combine, combinedId, readCombined, regexRecipe, switchAxis, withoutTag } from './combined';

const KNOWN = ['a,b', 'eval/loss', 'train/acc', 'train/loss'];

test('a recipe names tags, and those for the right axis', () => {
  const card = readCombined('a\\,b,>train/loss', KNOWN);
  expect(card.tags).toEqual(['a,b', 'train/loss']);
  expect(card.right).toEqual(['train/loss']);
  expect(card.title).toBe('a,b + train/loss');
  expect(card.id).toBe(combinedId('a\\,b,>train/loss'));
});

test('an expression stands for the tags that it matches', () => {
  const card = readCombined(regexRecipe('loss$'), KNOWN);
  expect(card.tags).toEqual(['eval/loss', 'train/loss']);
  expect(card.title).toBe('/loss$/');
  expect(readCombined(regexRecipe('(loss'), KNOWN).tags).toEqual([]);
});

test('two cards become one with each tag once', () => {
  const one = readCombined('train/acc,>train/loss', KNOWN);
  const other = readCombined('train/loss,eval/loss', KNOWN);
  expect(combine(one, other)).toBe('train/acc,>train/loss,eval/loss');
});

test('a tag changes sides, and goes', () => {
  const card = readCombined('train/acc,>train/loss', KNOWN);
  expect(switchAxis(card, 'train/acc')).toBe('>train/acc,>train/loss');
  expect(switchAxis(card, 'train/loss')).toBe('train/acc,train/loss');
  expect(withoutTag(card, 'train/acc')).toBe('>train/loss');
});
