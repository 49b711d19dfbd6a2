import { expect, test } from 'vitest';

import { groupByPrefix } from './section';

const group = (...tags: string[]): [string, string[]][] =>
  groupByPrefix(tags.map((tag) => ({ tag }))).map(({ title, items }) => [
    title,
    items.map(({ tag }) => tag),
  ]);

test('sections and tags come in natural order', () => {
  expect(group('train/l10', 'eval/x', 'train/l2')).toEqual([
    ['eval', ['eval/x']],
    ['train', ['train/l2', 'train/l10']],
  ]);
});

test('tags without a slash share a section when they share a stem', () => {
  expect(group('epoch_loss', 'lr', 'epoch_accuracy', 'batch_loss')).toEqual([
    ['epoch', ['epoch_accuracy', 'epoch_loss']],
    ['other', ['batch_loss', 'lr']],
  ]);
});

test('a tag that starts with a slash has no prefix', () => {
  expect(group('/loss')).toEqual([['other', ['/loss']]]);
});
