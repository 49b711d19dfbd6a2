import { describe, expect, test } from 'vitest';

import {
  addTables,
  BASE_LOCALE,
  choose,
  chooseLocale,
  findServerMessage,
  matchLocale,
  plural,
  PSEUDO_LOCALE,
  select,
  setServerMessages,
  show,
  translate,
  translateProblem,
} from './messages';
import { lengthen, lengthenMessage } from './load';

describe('messages', () => {
  const SERVER = {
    'log.no_run': (v: Record<string, unknown>) => `没有运行“${v.run}”`,
    'log.nearest_name': (v: Record<string, unknown>) => `${v.message}；最接近的是“${v.nearest}”`,
    'hints.try_again': () => '请重试。',
  };

  test('messages of a namespace are English unless a table was added', () => {
    const english = ['Close', (v: { count: number }) => `${v.count} runs`] as const;
    expect(choose('test-close', english)).toBe(english);
    addTables({ 'test-close': ['关闭', (v: { count: number }) => `${v.count} 个运行`] });
    const [close, runCount] = choose('test-close', english);
    expect(close).toBe('关闭');
    expect(runCount({ count: 3 })).toBe('3 个运行');
  });

  test('plural forms are chosen by number', () => {
    const forms = { '=0': 'none', one: 'one', other: 'many' };
    expect([0, 1, 2].map((count) => plural(count, forms))).toEqual(['none', 'one', 'many']);
  });

  test('words choose a form, unknown ones the last', () => {
    expect(select('image', { image: 'Image', other: '?' })).toBe('Image');
    expect(select('toString', { image: 'Image', other: '?' })).toBe('?');
  });

  test.each([0, 7, 999, 1000, -12345, 1234567.5, 0.25, 1e15])(
    '%d is grouped as by Intl',
    (value) => {
      for (const locale of ['en', 'zh-CN']) {
        const format = new Intl.NumberFormat(locale, { maximumFractionDigits: 20 });
        expect(show(value)).toBe(format.format(value));
      }
    },
  );

  test('text is shown unchanged', () => {
    expect(show('1234')).toBe('1234');
  });

  test('sentences of the server are translated by code, also inside of others', () => {
    setServerMessages(SERVER);
    const inner = { code: 'log.no_run', text: 'no run "a"', args: { run: 'a' } };
    expect(translate(inner)).toBe('没有运行“a”');
    const problem = {
      message: 'No run "a"; nearest: "b".',
      hint: 'Try again.',
      code: 'log.nearest_name',
      args: { message: inner, nearest: 'b' },
      hint_code: 'hints.try_again',
    };
    const translated = { message: '没有运行“a”；最接近的是“b”。', hint: '请重试。' };
    expect(translateProblem(problem)).toEqual(translated);
    expect(translateProblem(translated)).toEqual(translated);
  });

  test('a sentence without a translation stays English', () => {
    expect(findServerMessage('toString', {})).toBeNull();
    expect(translate({ code: 'x.unknown', text: 'Unknown', args: {} })).toBe('Unknown');
    expect(translateProblem({ message: 'A.', hint: 'B.' })).toEqual({ message: 'A.', hint: 'B.' });
  });

  test('the pseudo-locale is at least 40 % longer and keeps symbols', () => {
    for (const text of ['Reset zoom', 'No data for the selected runs'])
      expect(lengthen(text).length).toBeGreaterThanOrEqual(text.length * 1.4);
    expect(lengthen('±')).toBe('±');
    const runCount = lengthenMessage((v: { count: number }) => `${v.count} runs`);
    expect(typeof runCount === 'function' && runCount({ count: 2 })).toMatch(/^\[2 rüñs/);
  });
});

describe('locale', () => {
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
});
