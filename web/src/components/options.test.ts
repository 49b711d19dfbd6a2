import { expect, test } from 'vitest';

import { findOptions, groupOptions, type OptionGroup } from './options';

const GROUPS: OptionGroup[] = [
  { title: 'Colors', options: ['red', 'dark red', 'blue'].map((key) => ({ key, label: key })) },
  { title: 'Sizes', options: [{ key: 'l', label: 'Large' }] },
];

const findLabels = (text: string, limit = 9): string =>
  findOptions(GROUPS, text, limit)
    .groups.map(({ title, options }) => `${title}: ${options.map(({ label }) => label)}`)
    .join('; ');

test('options match words in any order, and empty groups are left out', () => {
  expect(findLabels('')).toBe('Colors: red,dark red,blue; Sizes: Large');
  expect(findLabels('RED dark')).toBe('Colors: dark red');
  expect(findLabels('la')).toBe('Sizes: Large');
  expect(findLabels('none')).toBe('');
});

test('options beyond the limit are counted', () => {
  expect(findLabels('', 2)).toBe('Colors: red,dark red');
  expect(findOptions(GROUPS, '', 2).left).toBe(2);
});

test('items are grouped by title in their order', () => {
  const groups = groupOptions(
    ['b/1', 'a/1', 'b/2'],
    (item) => item[0] ?? '',
    (item) => ({ key: item, label: item }),
  );
  expect(groups.map(({ title, options }) => [title, options.map(({ key }) => key)])).toEqual([
    ['b', ['b/1', 'b/2']],
    ['a', ['a/1']],
  ]);
});
