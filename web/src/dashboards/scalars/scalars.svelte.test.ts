import { describe, expect, test } from 'vitest';

import { quoteTag } from './DerivedMetricsDialog.svelte';
import {
  combineCards,
  formatRegexCard,
  parseCombinedCard,
  toggleRightAxis,
  withoutTag,
} from './scalars-dashboard.svelte';

describe('scalars dashboard', () => {
  const TAGS = ['a,b', 'eval/loss', 'train/acc', 'train/loss'];

  test('a definition lists tags, and marks those on the right axis', () => {
    const card = parseCombinedCard('a\\,b,>train/loss', TAGS);
    expect(card.tags).toEqual(['a,b', 'train/loss']);
    expect(card.right).toEqual(['train/loss']);
    expect(card.title).toBe('a,b + train/loss');
    expect(card.id).toBe('multi:a\\,b,>train/loss');
  });

  test('a regular expression selects the tags that match it', () => {
    const card = parseCombinedCard(formatRegexCard('loss$'), TAGS);
    expect(card.tags).toEqual(['eval/loss', 'train/loss']);
    expect(card.title).toBe('/loss$/');
    expect(parseCombinedCard(formatRegexCard('(loss'), TAGS).tags).toEqual([]);
  });

  test('combining two cards keeps each tag once', () => {
    const one = parseCombinedCard('train/acc,>train/loss', TAGS);
    const other = parseCombinedCard('train/loss,eval/loss', TAGS);
    expect(combineCards(one, other)).toBe('train/acc,>train/loss,eval/loss');
  });

  test('a tag can be moved to the other axis and removed', () => {
    const card = parseCombinedCard('train/acc,>train/loss', TAGS);
    expect(toggleRightAxis(card, 'train/acc')).toBe('>train/acc,>train/loss');
    expect(toggleRightAxis(card, 'train/loss')).toBe('train/acc,train/loss');
    expect(withoutTag(card, 'train/acc')).toBe('>train/loss');
  });
});

describe('derived metrics', () => {
  test.each([
    ['loss', 'loss'],
    ['train/loss.mean', 'train/loss.mean'],
    ['学习率', '学习率'],
    ['val loss', '"val loss"'],
    ['a-b', '"a-b"'],
    ['/loss', '"/loss"'],
    ['1x', '"1x"'],
    ['say "hi" \\', String.raw`"say \"hi\" \\"`],
  ])('%s is written as %s', (tag, expected) => {
    expect(quoteTag(tag)).toBe(expected);
  });
});
