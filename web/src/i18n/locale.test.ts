import { expect, test } from 'vitest';

import { BASE_LOCALE, chooseLocale, matchLocale, PSEUDO_LOCALE } from './locale';

test.each([
  ['zh', 'zh-CN'],
  ['zh-TW', 'zh-CN'],
  ['zh-Hans-SG', 'zh-CN'],
  ['en-GB', 'en'],
  ['de', null],
])('the language %s is shown in %s', (tag, locale) => {
  expect(matchLocale(tag)).toBe(locale);
});

test('the stored language comes first', () => {
  expect(chooseLocale('en', ['zh-CN'])).toBe('en');
  expect(chooseLocale('zh-CN', ['en-US'])).toBe('zh-CN');
  expect(chooseLocale(PSEUDO_LOCALE, ['en-US'])).toBe(PSEUDO_LOCALE);
});

test('without a choice the first supported language of the browser is used', () => {
  expect(chooseLocale(null, ['de-DE', 'zh-CN', 'en'])).toBe('zh-CN');
  expect(chooseLocale('xx', ['fr'])).toBe(BASE_LOCALE);
});
