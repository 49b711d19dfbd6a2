import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';

import { IdentityCache, LruCache, reuseIfEqual } from './caches';
import * as codec from './codecs';
import { compileExpression, type FieldValue, type FilterSubject } from './filter-expression';
import { compileTextFilter } from './text-filter';
import {
  formatAgo,
  formatAgoOrDate,
  formatBytes,
  formatCount,
  formatDb,
  formatDuration,
  formatHz,
  formatMs,
  formatPlaybackTime,
  formatProgress,
  formatStep,
  formatTimeOrDate,
  formatUs,
  formatValue,
  removeMarkdown,
} from './format';
import { getKeyLabels, matchesShortcut, runInSlices, runToEnd, type Task } from './browser';
import {
  computeStats,
  getExtent,
  getRobustExtent,
  type Sortable,
  sortByValue,
  sortNatural,
} from './arrays';

describe('caches', () => {
  test('an equal list is returned as the same object', () => {
    const before = [1, 2];
    expect(reuseIfEqual(before, [1, 2])).toBe(before);
    expect(reuseIfEqual(before, [2, 1])).toEqual([2, 1]);
    expect(reuseIfEqual(before, [1])).toEqual([1]);
  });

  test('unchanged items keep their identity', () => {
    const cache = new IdentityCache<{ name: string; color: string }>(({ name }) => name);
    const before = cache.update([
      { name: 'a', color: 'red' },
      { name: 'b', color: 'blue' },
    ]);
    const after = cache.update([
      { name: 'b', color: 'green' },
      { name: 'a', color: 'red' },
    ]);
    expect(after.get('a')).toBe(before.get('a'));
    expect(after.get('b')).toEqual({ name: 'b', color: 'green' });
  });

  test('the least recently used item is evicted first', () => {
    const evicted: string[] = [];
    const cache = new LruCache<string>(3, (item) => evicted.push(item));
    for (const name of ['a', 'b', 'c']) cache.set(name, name, 1);
    expect(cache.get('a')).toBe('a');
    cache.set('d', 'd', 1);
    expect(evicted).toEqual(['b']);
    expect(cache.size).toBe(3);
  });

  test('an item above the limit is cache until the next one is added', () => {
    const cache = new LruCache<string>(3);
    cache.set('small', 'small', 1);
    cache.set('large', 'large', 10);
    expect(cache.get('large')).toBe('large');
    expect(cache.get('small')).toBeUndefined();
    cache.set('next', 'next', 1);
    expect(cache.size).toBe(1);
  });

  test('setting a key again replaces its value', () => {
    const cache = new LruCache<string>(9);
    cache.set('a', 'old', 4);
    cache.set('a', 'new', 2);
    expect([cache.get('a'), cache.size]).toEqual(['new', 2]);
    cache.clear();
    expect(cache.size).toBe(0);
  });
});

describe('codecs', () => {
  test.each([
    [[]],
    [['']],
    [['', '']],
    [['a']],
    [['a,b', 'c\\', '\\,']],
    [['train/loss', 'x y&z=1']],
  ])('names come back from their text: %j', (names) =>
    expect(codec.list.parse(codec.list.format(names))).toEqual(names),
  );

  test.each([null, '', '~', '~~x', 'plain'])('optional text comes back: %j', (value) => {
    expect(codec.optionalText.parse(codec.optionalText.format(value))).toBe(value);
  });

  test('text that is not a number is rejected', () => {
    expect(codec.optionalNumber.parse('1e3')).toBe(1000);
    expect(codec.optionalNumber.parse('')).toBeNull();
    expect(codec.optionalNumber.parse('12 monkeys')).toBeNull();
    expect(codec.number(0.6).parse('NaN')).toBe(0.6);
  });

  test('a range is sorted and needs both ends', () => {
    expect(codec.range.parse('20~-3')).toEqual([-3, 20]);
    expect(codec.range.parse('20')).toBeNull();
    expect(codec.range.parse(codec.range.format([0.5, 1e-7]))).toEqual([1e-7, 0.5]);
  });

  test('an unknown choice becomes the fallback', () => {
    expect(codec.choice(['a', 'b'], 'b').parse('c')).toBe('b');
  });

  test('invalid JSON becomes the fallback', () => {
    const isList = (value: unknown): value is number[] => Array.isArray(value);
    expect(codec.json(isList, [1]).parse('{')).toEqual([1]);
    expect(codec.json(isList, [1]).parse('{}')).toEqual([1]);
    expect(codec.json(isList, [1]).parse('[2]')).toEqual([2]);
  });
});

describe('keyboard', () => {
  const press = (key: string, held: string[] = []): Parameters<typeof matchesShortcut>[1] => ({
    key,
    ctrlKey: held.includes('ctrl'),
    metaKey: held.includes('meta'),
    altKey: held.includes('alt'),
    shiftKey: held.includes('shift'),
  });

  test('shortcuts match exact modifiers', () => {
    expect(matchesShortcut('f', press('f'))).toBe(true);
    expect(matchesShortcut('f', press('f', ['ctrl']))).toBe(false);
    expect(matchesShortcut('Shift+P', press('P', ['shift']))).toBe(true);
    expect(matchesShortcut('p', press('P', ['shift']))).toBe(false);
    expect(matchesShortcut('Mod+K', press('k', ['meta']))).toBe(true);
    expect(matchesShortcut('Mod+K', press('k', ['ctrl']))).toBe(true);
  });

  test('symbols match on any keyboard layout', () => {
    expect(matchesShortcut('?', press('?', ['shift']))).toBe(true);
    expect(matchesShortcut('/', press('/', ['shift']))).toBe(true);
    expect(matchesShortcut('+', press('+'))).toBe(true);
  });

  test('key labels depend on the platform', () => {
    expect(getKeyLabels('Mod+K', true)).toEqual(['⌘', 'K']);
    expect(getKeyLabels('Mod+K', false)).toEqual(['Ctrl', 'K']);
    expect(getKeyLabels('Shift+ArrowLeft')).toEqual(['Shift', '←']);
    expect(getKeyLabels('?')).toEqual(['?']);
  });
});

describe('sorting', () => {
  test.each([
    [['run', 'run1', 'run2', 'run10', 'run10a', 'runs']],
    [['lr1e-5', 'lr3e-4', 'lr1e-3', 'lr0.15', 'lr0.2', 'lr1', 'lr1e+2']],
    [['.', 'a', 'a/eval', 'a/train', 'a-2', 'a.b', 'ab']],
    [['Alpha', 'alpha', 'Beta', 'gamma']],
    [['run1', 'run02', 'run2', 'run10']],
  ])('the order is that of the server: %j', (names) => {
    expect(sortNatural([...names].reverse(), (name) => name)).toEqual(names);
  });

  const order = (values: readonly Sortable[], descending = false): Sortable[] =>
    sortByValue(values, (value) => value, descending);

  test('numbers are sorted by value, missing ones last in both directions', () => {
    expect(order([3, null, -Infinity, NaN, 0.5])).toEqual([-Infinity, 0.5, 3, null, NaN]);
    expect(order([3, null, -Infinity, NaN, 0.5], true)).toEqual([3, 0.5, -Infinity, null, NaN]);
  });

  test('text is sorted in natural order, empty text counts as missing', () => {
    expect(order(['b10', '', 'b9', 'a'])).toEqual(['a', 'b9', 'b10', '']);
    expect(order([['b'], [], ['a', 'c']])).toEqual([['a', 'c'], ['b'], []]);
    expect(order([true, false, null])).toEqual([false, true, null]);
  });

  test('sorting is stable', () => {
    const items = [1, 2, 3, 4];
    expect(sortByValue(items, (item) => item % 2, false)).toEqual([2, 4, 1, 3]);
    expect(sortByValue(items, (item) => item % 2, true)).toEqual([1, 3, 2, 4]);
    expect(sortByValue(items, () => Infinity, true)).toEqual(items);
  });
});

describe('statistics', () => {
  test('mean and sample standard deviation', () => {
    const spread = computeStats([0.9142, 0.9087, 0.9066, 0.8991]);
    expect(spread?.mean).toBeCloseTo(0.90715, 10);
    expect(spread?.std).toBeCloseTo(0.0062506, 6);
  });

  test('non-finite values are ignored', () => {
    expect(computeStats([1, NaN, 3, Infinity])).toMatchObject({ count: 2, mean: 2 });
    expect(computeStats([NaN])).toBeNull();
    expect(computeStats([5])).toEqual({ count: 1, mean: 5, std: NaN });
  });

  test('a large offset does not lose precision', () => {
    expect(computeStats([1e9 + 1, 1e9 + 2, 1e9 + 3])?.std).toBe(1);
  });

  test('gaps and non-finite values are ignored', () => {
    expect(
      getExtent([
        [null, 3, NaN],
        [-1, Infinity],
      ]),
    ).toEqual({ low: -1, high: 3 });
    expect(getExtent([[null, NaN]])).toBeNull();
  });

  test('a few outliers are excluded', () => {
    const calm = Array.from({ length: 100 }, (_, step) => step / 100);
    expect(getRobustExtent([calm])).toEqual({ low: 0, high: 0.99 });
    const extent = getRobustExtent([calm, [1e6, null, NaN]]);
    expect(extent?.low).toBe(0);
    expect(extent?.high).toBeLessThan(2);
  });

  test('constant or empty columns have no outliers', () => {
    expect(getRobustExtent([[3, 3, 3]])).toEqual({ low: 3, high: 3 });
    expect(getRobustExtent([[null, NaN]])).toBeNull();
  });
});

describe('tasks', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A task that takes a given time in each of its slices. */
  function* slow(parts: number, partMs: number, log: number[]): Task<string> {
    for (let part = 0; part < parts; part++) {
      vi.spyOn(performance, 'now').mockReturnValue((log.length + 1) * partMs);
      log.push(part);
      yield;
    }
    return 'done';
  }

  test('other work runs between slices, and the result is passed on at the end', () => {
    const [log, results]: [number[], string[]] = [[], []];
    runInSlices(slow(5, 10, log), (result) => results.push(result));
    expect(log.length).toBeLessThan(5);
    expect(results).toEqual([]);
    vi.runAllTimers();
    expect(log).toEqual([0, 1, 2, 3, 4]);
    expect(results).toEqual(['done']);
  });

  test('a canceled task does not continue', () => {
    const [log, results]: [number[], string[]] = [[], []];
    const stop = runInSlices(slow(50, 10, log), (result) => results.push(result));
    stop();
    vi.runAllTimers();
    expect(log.length).toBeLessThan(5);
    expect(results).toEqual([]);
  });

  test('a task can be run synchronously', () => {
    expect(runToEnd(slow(3, 10, []))).toBe('done');
  });
});

describe('text filter', () => {
  const pick = (text: string, regex: boolean): string[] =>
    ['conv/lr1e-3', 'conv/lr3e-4', 'Dense/lr1e-3'].filter(
      compileTextFilter({ text, regex }).matches,
    );

  test('all words must occur, in any order and case', () => {
    expect(pick('', false)).toHaveLength(3);
    expect(pick('1e-3 CONV', false)).toEqual(['conv/lr1e-3']);
    expect(pick('lr.e', false)).toEqual([]);
  });

  test('a regular expression may match anywhere', () => {
    expect(pick('lr.e-3$', true)).toEqual(['conv/lr1e-3', 'Dense/lr1e-3']);
  });

  test('an invalid expression has an error and matches everything', () => {
    const matcher = compileTextFilter({ text: '(loss', regex: true });
    expect(matcher.error).toBe('Invalid regular expression: Unterminated group');
    expect(matcher.matches('anything')).toBe(true);
  });
});

describe('filter expression', () => {
  interface Examples {
    readonly matches: readonly [text: string, expected: string][];
    readonly errors: readonly [text: string, sentence: string][];
  }

  /** The same examples test the expressions of the server. */
  const [examples] = Object.values(
    import.meta.glob<Examples>('../../../tests/data/filter_expressions.json', {
      eager: true,
      import: 'default',
    }),
  ) as [Examples];

  const run = (name: string, values: Record<string, FieldValue> = {}): FilterSubject => ({
    searchText: name.toLowerCase(),
    getValue: (key) => (key === 'name' ? name : (values[key] ?? null)),
  });

  const RUNS = [
    run('conv/a', { 'hparam:lr': 0.001, 'hparam:optimizer': 'Adam', labels: ['best', 'paper'] }),
    run('conv/b', { 'hparam:lr': 0.01, 'hparam:optimizer': 'sgd', note: 'Diverged early' }),
    run('vit/c', { 'hparam:lr': 0.1, 'hparam:bn': true, 'last:val/acc': 0.93, duration: 5400 }),
    run('vit/d', { 'last:val/acc': 0.4, start: Date.parse('2026-05-02T10:00:00Z') / 1000 }),
  ];

  function pick(text: string): string {
    const compiled = compileExpression(text);
    if ('message' in compiled) return compiled.message;
    return RUNS.filter(compiled.matches)
      .map(({ searchText }) => searchText.at(-1))
      .join('');
  }

  test.each(examples.matches)('%s', (text, expected) => {
    expect(pick(text)).toBe(expected);
  });

  test('a field that no run has matches nothing', () => {
    expect(pick('unknown < 3 or max("x") > 1')).toBe('');
  });

  describe('errors report their position', () => {
    test.each([
      ...examples.errors,
      ['name ~ "(x"', 'Invalid regular expression: Unterminated group (at character 8)'],
    ])('%s', (text, sentence) => {
      expect(pick(text)).toBe(sentence);
    });
  });

  test('fields list the columns to request', () => {
    const compiled = compileExpression('lr < 1 and (last("acc") > 2 or not name ~ x)');
    expect('fields' in compiled && compiled.fields.map(({ key, offset }) => [key, offset])).toEqual(
      [
        ['hparam:lr', 0],
        ['last:acc', 12],
        ['name', 35],
      ],
    );
  });
});

describe('format', () => {
  test.each([
    [0, '0'],
    [0.914159, '0.9142'],
    [-0.5, '−0.5'],
    [0.0001234, '0.0001234'],
    [0.00001234, '1.234e-5'],
    [1e-5, '1e-5'],
    [12.34567, '12.35'],
    [12345, '12,345'],
    [12345.678, '12345.7'],
    [2_500_000, '2.5e+6'],
    [NaN, 'NaN'],
    [Infinity, '∞'],
    [-Infinity, '−∞'],
  ])('the value %d reads %s', (value, text) => {
    expect(formatValue(value)).toBe(text);
  });

  test('values can be shown with fewer digits', () => {
    expect(formatValue(0.0005838, 3)).toBe('5.84e-4');
    expect(formatValue(0.12345, 3)).toBe('0.123');
  });

  test.each([
    [0, '0'],
    [9_999, '9,999'],
    [12_345, '12.3k'],
    [999_960, '1M'],
    [1_234_567, '1.2M'],
    [40_000_000, '40M'],
  ])('the count %d reads %s', (count, text) => {
    expect(formatCount(count)).toBe(text);
  });

  test('steps are shown in full up to seven digits', () => {
    expect(formatStep(1_234_567)).toBe('1,234,567');
    expect(formatStep(12_345_678)).toBe('12.3M');
    expect(formatStep(-1)).toBe('−1');
  });

  test('sizes', () => {
    expect(formatBytes(0)).toBe('0 B');
    expect(formatBytes(18_204)).toBe('18.2 kB');
    expect(formatBytes(1.24e9)).toBe('1.2 GB');
    expect(formatBytes(-18_204)).toBe('−18.2 kB');
    expect(formatProgress(1.24e9, 1.91e9)).toBe('1.2 of 1.9 GB');
    expect(formatProgress(0, 0)).toBe('0 of 0 B');
  });

  test.each([
    [0.4, 'just now'],
    [2.9, '2 s ago'],
    [200, '3 min ago'],
    [7200, '2 h ago'],
    [200_000, '2 d ago'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(formatAgo(seconds)).toBe(text);
  });

  test('a time has a date only on another day', () => {
    const now = new Date(2026, 2, 12, 15, 0);
    expect(formatTimeOrDate(new Date(2026, 2, 12, 14, 2), now)).toBe('14:02');
    expect(formatTimeOrDate(new Date(2026, 2, 11, 14, 2), now)).toBe('11 Mar, 14:02');
    expect(formatTimeOrDate(new Date(2025, 2, 11, 14, 2), now)).toBe('11 Mar 2025, 14:02');
  });

  test.each([
    [0, '0 s'],
    [2.34, '2.3 s'],
    [45.2, '45 s'],
    [252, '4 min 12 s'],
    [3600, '1 h'],
    [7500, '2 h 5 min'],
    [273_600, '3 d 4 h'],
    [-90, '−1 min 30 s'],
  ])('%d seconds last %s', (seconds, expected) => {
    expect(formatDuration(seconds)).toBe(expected);
  });

  test('old times are shown as dates', () => {
    const now = new Date(2026, 4, 1);
    expect(formatAgoOrDate(new Date(2026, 3, 28), now)).toBe('3 d ago');
    expect(formatAgoOrDate(new Date(2026, 2, 14), now)).toBe('14 Mar');
    expect(formatAgoOrDate(new Date(2023, 10, 14), now)).toBe('14 Nov 2023');
  });

  test.each([
    [0, '0:00', '0:00.000'],
    [1.25, '0:01', '0:01.250'],
    [59.9996, '0:59', '1:00.000'],
    [62.5, '1:02', '1:02.500'],
    [3661.5, '1:01:01', '1:01:01.500'],
  ])('the place %d of something that plays reads %s', (seconds, text, fine) => {
    expect(formatPlaybackTime(seconds)).toBe(text);
    expect(formatPlaybackTime(seconds, true)).toBe(fine);
  });

  test.each([
    [440.2, '440 Hz'],
    [1234, '1.23 kHz'],
    [8000, '8 kHz'],
    [44_100, '44.1 kHz'],
  ])('%d a second read %s', (hz, text) => expect(formatHz(hz)).toBe(text));

  test.each([
    [-31.6, '−32 dB'],
    [-0.1, '0 dB'],
  ])('the level %d reads %s', (db, text) => expect(formatDb(db)).toBe(text));

  describe('short durations', () => {
    it.each([
      [0, '0 ms'],
      [49.23, '49.2 ms'],
      [1203.6, '1.2 s'],
      [3700, '3.7 s'],
      [999.6, '1000 ms'],
      [0.0384, '38.4 µs'],
      [0.00002, '20 ns'],
      [-12.345, '−12.3 ms'],
    ])('of %d ms read as %s', (ms, words) => expect(formatMs(ms)).toBe(words));

    it('microseconds use the same units', () => expect(formatUs(49_230)).toBe('49.2 ms'));
  });
});

test.each([
  ['Green: correct. Red: **wrong**.', 'Green: correct. Red: wrong.'],
  [
    'From `noise` to a _planet_, [as logged](http://localhost/).',
    'From noise to a planet, as logged.',
  ],
  ['# Loss\ntrain_step * batch_size ** 2', 'Loss\ntrain_step * batch_size ** 2'],
])('removes Markdown from %j', (description, text) => {
  expect(removeMarkdown(description)).toBe(text);
});
