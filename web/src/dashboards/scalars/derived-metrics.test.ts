import { expect, test } from 'vitest';

import { quoteTag } from './derived-metrics';

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
