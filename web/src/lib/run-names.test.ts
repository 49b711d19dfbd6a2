import { describe, expect, test } from 'vitest';

import {
  getPathDepth,
  getPathPart,
  getSharedPrefixLength,
  groupBy,
  groupByPrefix,
  type Grouping,
  groupingCodec,
  matchCapture,
  sortTags,
} from './grouping';
import { countFolders, findCommonFolder, getSharedLength } from './run-names';
import {
  AUTO_SELECTION,
  countNewest,
  makeSelection,
  packNames,
  selectExactly,
  selectionCodec,
  type SelectionState,
  takeFirstNames,
  unpackNames,
  withSelected,
} from './run-selection';

test('the common folder is the longest one that all names are in', () => {
  expect(findCommonFolder(['a/b/x', 'a/b/y', 'a/b/c/z'])).toBe('a/b/');
  expect(findCommonFolder(['a/bc/x', 'a/bd/y'])).toBe('a/');
  expect(findCommonFolder(['a/x', 'b/x'])).toBe('');
});

test('a run in the root has no common folder with others', () => {
  expect(findCommonFolder(['.', 'a/x'])).toBe('');
  expect(findCommonFolder(['a', 'a/x'])).toBe('');
});

test('the name itself is no folder', () => {
  expect(findCommonFolder(['a/b'])).toBe('a/');
  expect(findCommonFolder(['plain'])).toBe('');
  expect(findCommonFolder([])).toBe('');
});

test('the shared part of a path ends at a slash', () => {
  expect(getSharedLength('conv/lr1/train', 'conv/lr1/eval', 'vit/train')).toBe('conv/lr1/'.length);
  expect(getSharedLength('conv/lr1', 'vit/lr1', 'vit/lr2')).toBe(0);
});

test('without a slash it ends at a separator', () => {
  expect(getSharedLength('exp-lr0.1-seed1', undefined, 'exp-lr0.1-seed2')).toBe(
    'exp-lr0.1-'.length,
  );
  expect(getSharedLength('run1', 'run0', 'run2')).toBe(0);
});

test('a long last component is shared up to a separator', () => {
  const name = (letter: string): string => `sweep/lr0.1_bs128_long_schedule_${letter}/train`;
  expect(getSharedLength(name('B'), name('A'), name('C'))).toBe(name('').length - '/train'.length);
});

test('a name is never shared as a whole', () => {
  expect(getSharedLength('a/b', 'a/b', undefined)).toBe(2);
});

test('runs are counted in the folder that they are directly in', () => {
  expect(countFolders(['a/x', 'a/y', 'a/b/z', 'plain'])).toEqual(
    new Map([
      ['a/', 2],
      ['a/b/', 1],
      ['', 1],
    ]),
  );
});

describe('run selection', () => {
  test.each<[string[], string]>([
    [[], ''],
    [['vit'], 'vit'],
    [['vit', 'conv/lr3e-4', 'conv/lr1e-3'], 'conv/{lr1e-3,lr3e-4},vit'],
    [['a/b/c', 'a/b/d', 'a/e'], 'a/{b/{c,d},e}'],
    [['a', 'a/b'], 'a/b,a'],
    [[''], '\\e'],
    [['a/', 'a/b'], 'a/{\\e,b}'],
    [['x{1,2}\\y'], 'x\\{1\\,2\\}\\\\y'],
  ])('%j is %s', (names, packed) => {
    expect(packNames(names)).toBe(packed);
    expect(unpackNames(packed).sort()).toEqual([...names].sort());
  });

  test('a hundred runs of a sweep fit into a URL', () => {
    const names = Array.from({ length: 100 }, (_, at) => `experiments/2026-05/sweep/trial-${at}`);
    const packed = packNames(names);
    expect(packed.length).toBeLessThan(1000);
    expect(unpackNames(packed).sort()).toEqual(names.sort());
  });

  test('invalid text is parsed as far as possible', () => {
    expect(unpackNames('a/{b,c')).toEqual(['a/b', 'a/c']);
    expect(unpackNames('a\\')).toEqual(['a']);
    expect(unpackNames('a}b')).toEqual(['a']);
  });

  test.each<[SelectionState, string]>([
    [AUTO_SELECTION, 'auto'],
    [makeSelection('all'), 'all'],
    [makeSelection('none', ['conv/a', 'conv/b']), 'none;+conv/{a,b}'],
    [makeSelection('all', [], ['a;b']), 'all;-a\\;b'],
    [makeSelection('all', [], ['a\\']), 'all;-a\\\\'],
    [makeSelection({ newest: 20 }, ['vit'], ['x', 'y']), 'newest-20;+vit;-x,y'],
    [makeSelection('none', ['']), 'none;+\\e'],
  ])('%j is written as %s', (value, text) => {
    expect(selectionCodec.format(value)).toBe(text);
    expect(selectionCodec.parse(text)).toEqual(value);
  });

  test('invalid text becomes the default selection', () => {
    expect(selectionCodec.parse('some;+a')).toEqual(AUTO_SELECTION);
    expect(selectionCodec.parse('')).toEqual(AUTO_SELECTION);
  });

  test('all runs of a small log are selected, of a large one the newest 100', () => {
    expect(countNewest('auto', 500)).toBe(500);
    expect(countNewest('auto', 501)).toBe(100);
    expect([countNewest('all', 9), countNewest('none', 9), countNewest({ newest: 3 }, 9)]).toEqual([
      9, 0, 3,
    ]);
  });

  test('the rule with fewer exceptions is chosen', () => {
    const all = ['a', 'b', 'c'];
    expect(selectExactly(new Set(['a', 'b']), all)).toEqual(makeSelection('all', [], ['c']));
    expect(selectExactly(new Set(['a']), all)).toEqual(makeSelection('none', ['a']));
    expect(selectExactly(new Set(all), all)).toEqual(makeSelection('all'));
    expect(selectExactly(new Set(), all)).toEqual(makeSelection('none'));
  });

  test('only exceptions to the rule are stored', () => {
    const some = withSelected(makeSelection('all'), ['a', 'b'], false);
    expect(some).toEqual(makeSelection('all', [], ['a', 'b']));
    expect(withSelected(some, ['b'], true)).toEqual(makeSelection('all', [], ['a']));
    expect(withSelected(makeSelection('none', ['a']), ['a'], false)).toEqual(makeSelection('none'));
  });

  test('both sides are stored with the newest rule, as the newest runs change', () => {
    const some = withSelected(
      withSelected(makeSelection({ newest: 3 }), ['a'], true),
      ['b'],
      false,
    );
    expect(some).toEqual(makeSelection({ newest: 3 }, ['a'], ['b']));
    expect(withSelected(some, ['b'], true)).toEqual(makeSelection({ newest: 3 }, ['a', 'b']));
  });

  test('the first matching names are taken, and the search stops there', () => {
    const runs = ['a', 'b', 'c', 'd'].map((name) => ({ name }));
    expect([...takeFirstNames(runs, ({ name }) => name !== 'b', 2)]).toEqual(['a', 'c']);
    expect([...takeFirstNames(runs, () => true, 0)]).toEqual([]);
    expect(takeFirstNames(runs, () => true, 9).size).toBe(4);
  });
});

describe('grouping', () => {
  const group = (...tags: string[]): [string, string[]][] =>
    groupByPrefix(sortTags(tags.map((tag) => ({ tag })))).map(({ title, items }) => [
      title,
      items.map(({ tag }) => tag),
    ]);

  test('sections and tags are in natural order', () => {
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

  test('internal tags come last', () => {
    expect(group('_hparams_/x', 'z/y', '_graph_', 'loss')).toEqual([
      ['', ['loss', '_graph_']],
      ['z', ['z/y']],
      ['_hparams_', ['_hparams_/x']],
    ]);
  });

  test('a tag that starts with a slash has no prefix', () => {
    expect(group('/loss')).toEqual([['', ['/loss']]]);
  });

  test.each<[Grouping | null, string]>([
    [{ by: 'path', part: 2 }, 'path:2'],
    [{ by: 'regex', pattern: 'lr(.*):x' }, 're:lr(.*):x'],
    [{ by: 'label' }, 'label'],
    [{ by: 'column', key: 'hparam:a:b' }, 'hparam:a:b'],
    [null, ''],
  ])('%j is written as %s', (grouping, text) => {
    expect(groupingCodec.format(grouping)).toBe(text);
    expect(groupingCodec.parse(text)).toEqual(grouping);
  });

  test.each(['path:0', 'path:', 'colour:x', 're:', 'hparam'])('%s groups nothing', (text) => {
    expect(groupingCodec.parse(text)).toBeNull();
  });

  test('capture groups are the key, otherwise the whole match', () => {
    expect(matchCapture(/lr(\d)e-(\d)/, 'conv/lr1e-3')).toBe('1 3');
    expect(matchCapture(/lr\de/, 'conv/lr1e-3')).toBe('lr1e');
    expect(matchCapture(/(train)|(eval)/, 'a/eval')).toBe('eval');
    expect(matchCapture(/x/, 'conv')).toBeNull();
  });

  test('the last part of a path is not a group', () => {
    expect([1, 2, 3].map((part) => getPathPart('a/b/c', part))).toEqual(['a', 'b', null]);
    expect(getPathPart('vit', 1)).toBe('vit');
    expect(getPathDepth(['a', 'a/b/c', 'a/b'])).toBe(2);
  });

  test('groups are in natural order, ungrouped items last', () => {
    const names = ['b/10', 'x', 'b/9', 'a/1'];
    const keyOf = (name: string): string | null =>
      name === 'x' ? null : (name.split('/')[0] ?? '');
    expect(groupBy(names, keyOf)).toEqual([
      { key: 'a', items: ['a/1'] },
      { key: 'b', items: ['b/10', 'b/9'] },
      { key: null, items: ['x'] },
    ]);
  });

  const split = (names: string[]): string[] =>
    names.map((name, at) =>
      name.slice(0, getSharedPrefixLength(name, names[at - 1], names[at + 1])),
    );

  test('shared prefixes end at a slash', () => {
    expect(split(['conv/bn-lr1', 'conv/bn-lr3', 'vit/tiny'])).toEqual(['conv/', 'conv/', '']);
  });

  test('shared prefixes of names without a slash end at a dash or underscore', () => {
    expect(split(['run_1', 'run_2', 'runner'])).toEqual(['run_', 'run_', '']);
  });

  test('a name is never dimmed completely', () => {
    expect(split(['a/', 'a/', 'a'])).toEqual(['', '', '']);
    expect(split(['only'])).toEqual(['']);
  });
});
