import { expect, test } from 'vitest';

import { findOptions, type OptionGroup } from './combobox-options';

const GROUPS: OptionGroup[] = [
  { title: 'Colours', options: ['red', 'dark red', 'blue'].map((key) => ({ key, label: key })) },
  { title: 'Sizes', options: [{ key: 'l', label: 'Large' }] },
];

const labels = (text: string, most = 9): string =>
  findOptions(GROUPS, text, most)
    .groups.map(({ title, options }) => `${title}: ${options.map(({ label }) => label)}`)
    .join('; ');

test('options are found by words in any order, and groups without any are left out', () => {
  expect(labels('')).toBe('Colours: red,dark red,blue; Sizes: Large');
  expect(labels('RED dark')).toBe('Colours: dark red');
  expect(labels('la')).toBe('Sizes: Large');
  expect(labels('none')).toBe('');
});

test('what is too much is counted', () => {
  expect(labels('', 2)).toBe('Colours: red,dark red');
  expect(findOptions(GROUPS, '', 2).left).toBe(2);
});
