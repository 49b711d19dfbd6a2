import { expect, test } from 'vitest';

import {
  AUTO,
  reachOf,
  select,
  selectExactly,
  type Selection,
  selectionCodec,
  takeFirst,
  withTicks,
} from './selection';

test.each<[Selection, string]>([
  [AUTO, 'auto'],
  [select('all'), 'all'],
  [select('none', ['conv/a', 'conv/b']), 'none;+conv/{a,b}'],
  [select('all', [], ['a;b']), 'all;-a\\;b'],
  [select('all', [], ['a\\']), 'all;-a\\\\'],
  [select({ newest: 20 }, ['vit'], ['x', 'y']), 'newest-20;+vit;-x,y'],
  [select('none', ['']), 'none;+\\e'],
])('%j is written as %s', (value, text) => {
  expect(selectionCodec.format(value)).toBe(text);
  expect(selectionCodec.parse(text)).toEqual(value);
});

test('what is no selection is the usual one', () => {
  expect(selectionCodec.parse('some;+a')).toEqual(AUTO);
  expect(selectionCodec.parse('')).toEqual(AUTO);
});

test('a small log is ticked whole, of a large one the newest hundred', () => {
  expect(reachOf('auto', 500)).toBe(500);
  expect(reachOf('auto', 501)).toBe(100);
  expect([reachOf('all', 9), reachOf('none', 9), reachOf({ newest: 3 }, 9)]).toEqual([9, 0, 3]);
});

test('the rule with fewer exceptions is taken', () => {
  const all = ['a', 'b', 'c'];
  expect(selectExactly(new Set(['a', 'b']), all)).toEqual(select('all', [], ['c']));
  expect(selectExactly(new Set(['a']), all)).toEqual(select('none', ['a']));
  expect(selectExactly(new Set(all), all)).toEqual(select('all'));
  expect(selectExactly(new Set(), all)).toEqual(select('none'));
});

test('only what the rule does not say is kept', () => {
  const some = withTicks(select('all'), ['a', 'b'], false);
  expect(some).toEqual(select('all', [], ['a', 'b']));
  expect(withTicks(some, ['b'], true)).toEqual(select('all', [], ['a']));
  expect(withTicks(select('none', ['a']), ['a'], false)).toEqual(select('none'));
});

test('what the newest runs are may change, so both sides are kept', () => {
  const some = withTicks(withTicks(select({ newest: 3 }), ['a'], true), ['b'], false);
  expect(some).toEqual(select({ newest: 3 }, ['a'], ['b']));
  expect(withTicks(some, ['b'], true)).toEqual(select({ newest: 3 }, ['a', 'b']));
});

test('the first that are meant are taken, and no more are looked at', () => {
  const runs = ['a', 'b', 'c', 'd'].map((name) => ({ name }));
  expect([...takeFirst(runs, ({ name }) => name !== 'b', 2)]).toEqual(['a', 'c']);
  expect([...takeFirst(runs, () => true, 0)]).toEqual([]);
  expect(takeFirst(runs, () => true, 9).size).toBe(4);
});
