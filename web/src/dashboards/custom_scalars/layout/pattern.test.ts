import { expect, test } from 'vitest';

import { compilePattern, exactly } from './pattern';

const found = (pattern: string, ...tags: string[]): string[] =>
  tags.filter(compilePattern(pattern).matches);

test('an expression is matched at the beginning of a tag, as Python does', () => {
  expect(found('loss', 'loss', 'loss/train', 'val_loss')).toEqual(['loss', 'loss/train']);
  expect(found('a|b', 'a1', 'b1', 'cb')).toEqual(['a1', 'b1']);
});

test('what Python writes otherwise is understood', () => {
  expect(found('(?i)LOSS\\Z', 'loss', 'losses')).toEqual(['loss']);
  expect(found('(?P<head>\\w)/(?P=head)$', 'a/a', 'a/b')).toEqual(['a/a']);
});

test('what is wrong with an expression is said, and it matches nothing', () => {
  const { error, matches } = compilePattern('loss(');
  expect(error).toBe('“loss(” is no expression for tags. Unterminated group.');
  expect(matches('loss(')).toBe(false);
});

test('an expression that could take forever is not tried', () => {
  expect(compilePattern('(a+)+$').error).toContain('forever');
  expect(compilePattern('(a|b)+x*').error).toBeNull();
});

test('one tag is matched and no other', () => {
  const tag = 'loss (train).[1]';
  expect(found(exactly(tag), tag, `${tag}2`, 'loss train')).toEqual([tag]);
});
