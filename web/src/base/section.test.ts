import { expect, test } from 'vitest';

import { groupByPrefix, sortTags } from './section';

const group = (...tags: string[]): [string, string[]][] =>
  groupByPrefix(sortTags(tags.map((tag) => ({ tag })))).map(({ title, items }) => [
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
    ['', ['batch_loss', 'lr']],
    ['epoch', ['epoch_accuracy', 'epoch_loss']],
  ]);
});

test('what is meant for machines comes last', () => {
  expect(group('_hparams_/x', 'z/y', '_graph_', 'loss')).toEqual([
    ['', ['loss', '_graph_']],
    ['z', ['z/y']],
    ['_hparams_', ['_hparams_/x']],
  ]);
});

test('a tag that starts with a slash has no prefix', () => {
  expect(group('/loss')).toEqual([['', ['/loss']]]);
});
