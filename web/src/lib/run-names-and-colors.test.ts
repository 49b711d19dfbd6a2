import { differenceCiede2000, filterDeficiencyDeuter, filterDeficiencyProt, parse } from 'culori';
import { describe, expect, it, test } from 'vitest';

import {
  assignRunColors,
  contrast,
  getLightness,
  getReadableTextColor,
  getRunColor,
  getSequentialRamp,
  interpolateColor,
  isEvaluationRun,
  mixColors,
  parseRgb,
  RUN_COLORS,
  setExportedColors,
  toPixel,
} from './colors';
import {
  countFolders,
  findCommonFolder,
  getPathDepth,
  getPathPart,
  getSharedLength,
  getSharedPrefixLength,
  groupBy,
  groupByPrefix,
  type Grouping,
  groupingCodec,
  matchCapture,
  sortTags,
} from './grouping';
import fixture from './run-colors.fixture.json';
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

describe('colors', () => {
  test('there are enough colors, all different and all visible on both backgrounds', () => {
    expect(new Set(RUN_COLORS).size).toBeGreaterThanOrEqual(20);
    for (const color of RUN_COLORS) {
      for (const background of ['#ffffff', '#121217']) {
        expect(contrast(color, background), `${color} on ${background}`).toBeGreaterThan(3);
      }
    }
  });

  test('a run always has the same color', () => {
    expect(getRunColor('conv/lr1e-3')).toBe(getRunColor('conv/lr1e-3'));
    // A change here changes the run colors of existing logs.
    expect(['conv/lr1e-3', 'train', 'run_7', ''].map(getRunColor)).toMatchInlineSnapshot(`
    [
      "#7a5cc7",
      "#e2604f",
      "#2b7a5f",
      "#e2604f",
    ]
  `);
  });

  test('runs of a sweep have different colors', () => {
    const sweep = Array.from({ length: RUN_COLORS.length }, (_, number) => `sweep/run_${number}`);
    expect(new Set(sweep.map(getRunColor)).size).toBe(RUN_COLORS.length);
  });

  test('learning rates of all magnitudes have different colors', () => {
    const rates = ['0.3', '0.1', '0.03', '0.01', '0.003', '0.001'].map(
      (rate) => `sweep/lr=${rate}`,
    );
    expect(new Set(rates.map(getRunColor)).size).toBe(rates.length);
  });

  test('typical layer and batch sizes have different colors', () => {
    const sizes = [16, 32, 64, 128, 256, 512, 1024, 2048].map((size) => `sweep/width-${size}`);
    expect(new Set(sizes.map(getRunColor)).size).toBe(sizes.length);
  });

  test('runs of a small log have distinct colors, which later runs do not change', () => {
    const names = Array.from({ length: 40 }, (_, at) => `model-${at * 7}/lr${at}`);
    const few = assignRunColors(names.slice(0, RUN_COLORS.length));
    expect(new Set(few.values()).size).toBe(RUN_COLORS.length);
    const many = assignRunColors(names);
    for (const [name, color] of few) expect(many.get(name)).toBe(color);
    expect(many.get(names[39] ?? '')).toBeUndefined();
  });

  test('train and validation runs share an assigned color', () => {
    const colors = assignRunColors(['b/train', 'a', 'b/validation']);
    expect(colors.get('b/validation')).toBe(colors.get('b/train'));
    expect(colors.get('a')).not.toBe(colors.get('b/train'));
  });

  test('a small log has colors that are easily told apart', () => {
    const names = Array.from({ length: 8 }, (_, at) => `run-${at * 11}`);
    const colors = [...new Set(assignRunColors(names).values())];
    expect(colors).toHaveLength(8);
    const difference = differenceCiede2000();
    const blind = [filterDeficiencyDeuter(1), filterDeficiencyProt(1)];
    const simulate = (filter: (typeof blind)[number], color: string) =>
      filter(parse(color) ?? { mode: 'rgb', r: 0, g: 0, b: 0 });
    for (const [at, one] of colors.entries())
      for (const other of colors.slice(0, at)) {
        expect(difference(one, other), `${one} ${other}`).toBeGreaterThan(18);
        for (const filter of blind)
          expect(difference(simulate(filter, one), simulate(filter, other))).toBeGreaterThan(7);
      }
  });

  test('an export keeps the colors of its log', () => {
    setExportedColors(new Map([['a', '#123456']]));
    expect(assignRunColors(['a', 'b'])).toEqual(new Map([['a', '#123456']]));
    setExportedColors(null);
  });

  test('colors are those of the fixture, which the server is compared with', () => {
    const names = ['b/train', 'a', 'b/validation', 'lr=0.001', 'lr=0.01', 'lr=0.1', 'x10', 'x007'];
    names.push('模型/1', 'seed0', 'seed00', 'conv_val', 'big-1234567890');
    expect(Object.fromEntries(assignRunColors(names))).toEqual(fixture);
  });

  test('train and validation runs of an experiment share a color', () => {
    expect(getRunColor('a/lr=0.1/train')).toBe(getRunColor('a/lr=0.1/validation'));
    expect(getRunColor('a/lr=0.1/train')).toBe(getRunColor('a/lr=0.1'));
    expect(getRunColor('run7_eval')).toBe(getRunColor('run7'));
  });

  test('very long numbers are supported', () => {
    expect(RUN_COLORS).toContain(getRunColor('9'.repeat(400)));
  });

  test.each([
    ['conv/validation', true],
    ['val', true],
    ['run-eval', true],
    ['run_test', true],
    ['train', false],
    ['evaluate_later', false],
    ['contest', false],
  ])('%s validates: %s', (name, expected) => {
    expect(isEvaluationRun(name)).toBe(expected);
  });

  test('contrast follows WCAG', () => {
    expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
    expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
  });

  test('every color of the scale is visible on both backgrounds', () => {
    for (let place = 0; place <= 1; place += 0.01) {
      for (const background of ['#ffffff', '#121217']) {
        expect(contrast(interpolateColor(place), background), `at ${place}`).toBeGreaterThan(3);
      }
    }
    expect([interpolateColor(-1), interpolateColor(2)]).toEqual([
      interpolateColor(0),
      interpolateColor(1),
    ]);
  });

  const rampColorAt = (background: string, at: number): string =>
    `rgb(${[...getSequentialRamp(background).subarray(4 * at, 4 * at + 3)].join(', ')})`;

  describe.each([
    ['#ffffff', -1],
    ['rgb(26, 26, 33)', 1],
  ])('sequential ramp on %s', (background, sign) => {
    it('start with the background', () => {
      expect(getLightness(rampColorAt(background, 0))).toBeCloseTo(getLightness(background), 2);
    });

    it('are monotonic in lightness, in perceptually equal steps', () => {
      const lights = Array.from({ length: 16 }, (_, at) =>
        getLightness(rampColorAt(background, at * 17)),
      );
      const steps = lights.slice(1).map((light, at) => sign * (light - (lights[at] ?? 0)));
      expect(Math.min(...steps)).toBeGreaterThan(0.02);
      expect(Math.max(...steps)).toBeLessThan(0.09);
    });

    it('have 256 opaque entries', () => {
      expect(getSequentialRamp(background)).toHaveLength(1024);
      expect(getSequentialRamp(background).filter((_, at) => at % 4 === 3)).toEqual(
        new Uint8ClampedArray(256).fill(255),
      );
    });
  });

  it('lightness is known for all color notations', () => {
    expect(getLightness('#fff')).toBeCloseTo(1, 3);
    expect(getLightness('rgb(255, 255, 255)')).toBeCloseTo(1, 3);
    expect(getLightness('#000000')).toBe(0);
  });

  it('parses hex, rgb() and color() notations', () => {
    for (const color of ['#4269d0', 'rgb(66, 105, 208)', 'color(srgb 0.25882 0.41176 0.81569)'])
      expect(parseRgb(color).map(Math.round)).toEqual([66, 105, 208]);
    expect(parseRgb('#fff')).toEqual([255, 255, 255]);
    expect(parseRgb('not a color')).toEqual([0, 0, 0]);
  });

  it('mixes colors, packs pixels and chooses readable text', () => {
    expect(mixColors('#000000', '#ffffff', 0.5)).toBe('#808080');
    expect(toPixel('#010203')).toBe(0xff030201);
    expect([getReadableTextColor('#101010'), getReadableTextColor('#f5b14c')]).toEqual([
      '#ffffff',
      '#1c1c22',
    ]);
  });
});
