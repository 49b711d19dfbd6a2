import { describe, expect, it, test } from 'vitest';

import type { StatisticsRow } from '../../api/schemas';
import { makeFeatureBars } from './attributions/feature-bars';
import { makeBarChartImage, makeHeatmapImage } from './chart-images';
import { countFlips, listDisagreements } from './compare/model-comparison';
import {
  makeThresholdLines,
  makeThresholdMarks,
  type ModelThresholds,
} from './dependence/dependence-curves.svelte';
import { makeSaliencyPixels } from './editor/ImageDialog.svelte';
import {
  accumulate,
  arrangeFeatures,
  countSteps,
  encodeFile,
  formatFeature,
  formatStep,
  getLargestDrift,
  listKinds,
  listScoreChanges,
  makeBinLabels,
  makeLengthLabels,
  matchesKinds,
  parseFeature,
  parseSearch,
  replaceStep,
  scaleCounts,
  getOwn,
} from './feature-values';
import {
  isComplete,
  isSameList,
  makeModelForm,
  makeModelSpec,
  splitLines,
} from './setup/model-spec';
import {
  countSlices,
  formatSlice,
  getBinCount,
  getBinKind,
  isBinRules,
  makeBinRule,
  makeConditionMask,
  matchesWords,
  MISSING_VALUE,
  parseEdges,
  parseSlice,
  removeSliceThresholds,
  selectSliceThresholds,
} from './slices';
import { ATTRIBUTIONS, formatDistance, nameDistance, parseDistance } from './what-if-settings';

describe('what if settings', () => {
  test('names of distances say what they measure', () => {
    const columns = [
      { row: 12, metric: 'l1', by: '' },
      { row: 0, metric: 'cosine', by: 'a:b, c' },
      { row: 3, metric: 'l2', by: ATTRIBUTIONS },
    ] as const;
    for (const column of columns) expect(parseDistance(nameDistance(column))).toEqual(column);
    expect(formatDistance(columns[0])).toBe('L1 distance to datapoint 12');
    expect(formatDistance(columns[2])).toBe('L2 distance to datapoint 3 (Attributions)');
  });

  test('other columns are no distances', () => {
    for (const name of ['age', 'distance:3:l1', ' distance:x:l1', ' distance:3:l9', ''])
      expect(parseDistance(name)).toBeNull();
  });
});

describe('feature values', () => {
  test('texts become values of the type of the feature', () => {
    expect(parseFeature('4.5', { type: 'float', is_list: false })).toBe(4.5);
    expect(parseFeature('', { type: 'float', is_list: false })).toBeNull();
    expect(parseFeature('', { type: 'string', is_list: false })).toBe('');
    expect(parseFeature('True', { type: 'boolean', is_list: false })).toBe(true);
    expect(parseFeature('x', { type: 'integer', is_list: false })).toBe('x');
    expect(parseFeature('1, 2', { type: 'integer', is_list: true })).toEqual([1, 2]);
    expect(parseFeature('[[1],[2,3]]', { type: 'integer', is_list: true })).toEqual([[1], [2, 3]]);
  });

  test('values become texts that can be parsed again', () => {
    expect(formatFeature([1, 2])).toBe('[1,2]');
    expect(formatFeature(null)).toBe('');
    expect(formatFeature(false)).toBe('false');
  });

  test('one step of a sequence is shown and replaced', () => {
    const value = [[1], [2, 3]];
    const numbers = { type: 'float', is_list: true } as const;
    expect(countSteps({ ...numbers, is_sequence: true, value })).toBe(2);
    expect(countSteps({ ...numbers, is_sequence: false, value: [1, 2] })).toBe(0);
    // Images of a list are edited one by one.
    const images = { type: 'image', is_list: true, is_sequence: false } as const;
    expect(countSteps({ ...images, value: [null, null, null] })).toBe(3);
    expect(countSteps({ ...images, is_list: false, value: null })).toBe(0);
    expect(formatStep(value, 0)).toBe('1');
    expect(formatStep(value, 1)).toBe('[2,3]');
    expect(formatStep(value, 2)).toBe('');
    expect(replaceStep(value, 0, '5', { type: 'integer' })).toEqual([[5], [2, 3]]);
    expect(replaceStep(value, 1, '[4]', { type: 'integer' })).toEqual([[1], [4]]);
    expect(replaceStep([['a']], 0, 'b, c', { type: 'string' })).toEqual([['b, c']]);
    expect(replaceStep([['a']], 0, '["b","c"]', { type: 'string' })).toEqual([['b', 'c']]);
    expect(value).toEqual([[1], [2, 3]]);
  });

  test('scores are compared with the previous prediction', () => {
    expect(listScoreChanges(['0', '1'], [[0.4, 0.6]])).toEqual([
      { name: '0', before: null, after: 0.4 },
      { name: '1', before: null, after: 0.6 },
    ]);
    const history = [
      [0.9, 0.1],
      [0.4, 0.6],
      [0.3, 0.7],
    ];
    expect(listScoreChanges(['0', '1'], history)[1]).toEqual({
      name: '1',
      before: 0.6,
      after: 0.7,
    });
  });

  test('files are sent as base64', async () => {
    expect(await encodeFile(new Blob(['abc']))).toEqual({ base64: 'YWJj' });
  });

  test('features are searched with regular expressions and sorted by attribution', () => {
    const features = (
      [
        ['age', 'integer', { m: -3 }],
        ['photo', 'image', {}],
        ['bmi', 'float', { m: 2 }],
        ['note', 'string', {}],
      ] as const
    ).map(([name, type, attributions]) => ({ name, type, attributions }));
    const arrange = (search: string, order: Parameters<typeof arrangeFeatures>[2]) =>
      arrangeFeatures(features, parseSearch(search), order, 'm').map(({ name }) => name);
    expect(arrange('', 'data')).toEqual(['photo', 'age', 'bmi', 'note']);
    expect(arrange('', 'name')).toEqual(['photo', 'age', 'bmi', 'note']);
    expect(arrange('', 'largest')).toEqual(['photo', 'bmi', 'age', 'note']);
    expect(arrange('', 'smallest')).toEqual(['photo', 'age', 'bmi', 'note']);
    expect(arrange('', 'absolute')).toEqual(['photo', 'age', 'bmi', 'note']);
    expect(arrange('^(AGE|bmi)$', 'data')).toEqual(['age', 'bmi']);
    expect(parseSearch('(')).toBeNull();
  });

  test('scores that are missing are not numbers', () => {
    expect(listScoreChanges(['no'], [[0.5], [null], [NaN]])).toEqual([
      { name: 'no', before: null, after: null },
    ]);
  });

  describe('distributions', () => {
    it('names bins by their edges, of which the last one is closed', () => {
      expect(makeBinLabels([0, 1, 2.5])).toEqual(['[0, 1)', '[1, 2.5]']);
      expect(makeBinLabels([])).toEqual([]);
    });

    it('scales counts to shares and logarithms', () => {
      expect(scaleCounts([1, 3, 0], true, false)).toEqual([25, 75, 0]);
      expect(scaleCounts([9, 0], false, true)).toEqual([1, 0]);
      expect(scaleCounts([0, 0], true, false)).toEqual([0, 0]);
    });

    it('accumulates shares up to 100 percent', () => {
      expect(accumulate([1, 1, 2])).toEqual([25, 50, 100]);
    });

    it('names bins of lengths', () => {
      expect(makeLengthLabels([1, 2, 3])).toEqual(['1', '2']);
      expect(makeLengthLabels([0, 4, 8])).toEqual(['0 – 3', '4 – 7']);
    });

    it('takes the largest drift of several data sets', () => {
      const others = [{ jensen_shannon: 0.2 }, { jensen_shannon: NaN }, { jensen_shannon: 0.4 }];
      const row = { others } as unknown as StatisticsRow;
      expect(getLargestDrift(row, 'jensen_shannon')).toBe(0.4);
      expect(getLargestDrift({ ...row, others: [] }, 'jensen_shannon')).toBeNull();
    });

    it('filters features by type and shape', () => {
      const age = { type: 'integer', is_list: false, list_length: null } as const;
      const vector = { type: 'float', is_list: true, list_length: 3 } as const;
      const words = { type: 'string', is_list: true, list_length: null } as const;
      expect(listKinds([age, vector])).toEqual(['float', 'integer', 'single', 'fixed']);
      expect(listKinds([age])).toEqual([]);
      const find = (...kinds: string[]) =>
        [age, vector, words].filter((row) => matchesKinds(row, kinds)).map(({ type }) => type);
      expect(find()).toEqual(['integer', 'float', 'string']);
      expect(find('integer', 'float')).toEqual(['integer', 'float']);
      expect(find('fixed', 'variable')).toEqual(['float', 'string']);
      expect(find('float', 'variable')).toEqual([]);
    });
  });
});

describe('slices', () => {
  const edges = { age: [20, 40] };
  const columns = new Map([
    [
      'sex',
      { name: 'sex', numbers: null, codes: Int32Array.of(0, 1, 1, -1), categories: ['f', 'm'] },
    ],
    [
      'age',
      { name: 'age', numbers: Float64Array.of(20, 30, 40, NaN), codes: null, categories: [] },
    ],
  ]);

  test('a slice by name becomes conditions', () => {
    expect(parseSlice('Overall', ['sex'])).toEqual([]);
    expect(parseSlice('sex:f', ['sex'])).toEqual([{ column: 'sex', value: 'f' }]);
    expect(parseSlice('sex_X_age:m_X_[20, 40)', ['sex', 'age'], edges)).toEqual([
      { column: 'sex', value: 'm' },
      { column: 'age', low: 20, high: 40 },
    ]);
  });

  test('the first and the last bin are unbounded, and edges are exact', () => {
    expect(parseSlice('age:< 20', ['age'], edges)).toEqual([{ column: 'age', high: 20 }]);
    expect(parseSlice('age:>= 40', ['age'], edges)).toEqual([{ column: 'age', low: 40 }]);
    const rounded = { age: [1.23456789, 2] };
    expect(parseSlice('age:[1.23457, 2)', ['age'], rounded)).toEqual([
      { column: 'age', low: 1.23456789, high: 2 },
    ]);
    // A category that only looks like a bin.
    expect(parseSlice('income:< 50K', ['income'])).toEqual([{ column: 'income', value: '< 50K' }]);
  });

  test('rows must fit all conditions', () => {
    const conditions = parseSlice('sex_X_age:m_X_[20, 40)', ['sex', 'age'], edges);
    const mask = makeConditionMask(conditions, columns, 4);
    expect([...(mask ?? [])]).toEqual([0, 1, 0, 0]);
    expect(makeConditionMask([], columns, 4)).toBeNull();
  });

  test('numbers and missing values are compared as such', () => {
    const mask = (value: string | null, column: string) => [
      ...(makeConditionMask([{ column, value }], columns, 4) ?? []),
    ];
    expect(mask('30', 'age')).toEqual([0, 1, 0, 0]);
    expect(mask(null, 'sex')).toEqual([0, 0, 0, 1]);
  });

  test('the slice of missing values is shown as such and has the rows without a value', () => {
    const crossed = `sex_X_age:${MISSING_VALUE}_X_${MISSING_VALUE}`;
    const conditions = parseSlice(crossed, ['sex', 'age'], edges);
    expect(conditions).toEqual([
      { column: 'sex', value: null },
      { column: 'age', value: null },
    ]);
    expect([...(makeConditionMask(conditions, columns, 4) ?? [])]).toEqual([0, 0, 0, 1]);
    expect(formatSlice(crossed, ['sex', 'age'])).toBe('sex: missing · age: missing');
  });

  test('a category that is spelled as missing values is not mistaken for them', () => {
    const name = 'sex:"missing"';
    expect(parseSlice(name, ['sex'])).toEqual([{ column: 'sex', value: 'missing' }]);
    expect(parseSlice('sex:""missing""', ['sex'])).toEqual([{ column: 'sex', value: '"missing"' }]);
    expect(formatSlice(name, ['sex'])).toBe('sex: "missing"');
  });

  test('names of slices are shown with their columns', () => {
    expect(formatSlice('sex_X_age:m_X_>= 40', ['sex', 'age'])).toBe('sex: m · age: ≥ 40');
    expect(formatSlice('age:[20, 40)', ['age'])).toBe('age: [20, 40)');
    expect(formatSlice('Overall', ['age'])).toBe('Overall');
  });

  test('edges are parsed, sorted and made unique', () => {
    expect(parseEdges('40, 20 ; 60,20')).toEqual([20, 40, 60]);
    expect(parseEdges('-1.5 2e3')).toEqual([-1.5, 2000]);
    expect(parseEdges('')).toBeNull();
    expect(parseEdges('20, forty')).toBeNull();
  });

  test('rules of a link are checked', () => {
    expect(isBinRules({ age: 4, hours: { quantiles: 3 }, x: [1, 2] })).toBe(true);
    expect(isBinRules({ age: 1 })).toBe(false);
    expect(isBinRules({ age: 'many' })).toBe(false);
    expect(isBinRules({ age: [2, 1, 1] })).toBe(false);
    expect(isBinRules({ age: { quantiles: 1e9 } })).toBe(false);
    expect(isBinRules(null)).toBe(false);
  });

  test('a rule keeps its number of bins when its kind changes', () => {
    const rule = makeBinRule('quantiles', 5, []);
    expect(rule).toEqual({ quantiles: 5 });
    expect(makeBinRule('width', getBinCount(rule), [])).toBe(5);
    expect(makeBinRule('edges', 3, [10, 20])).toEqual([10, 20]);
    expect(makeBinRule('edges', 3, [])).toBe(3);
    expect(makeBinRule('width', 1000, [])).toBe(50);
    expect([rule, 4, [1]].map(getBinKind)).toEqual(['quantiles', 'width', 'edges']);
  });

  test('a filter has several words', () => {
    expect(matchesWords('sex_X_age:f_X_>= 30', 'F age')).toBe(true);
    expect(matchesWords('sex:f', 'male')).toBe(false);
    expect(matchesWords('sex:f', '')).toBe(true);
  });

  const SLICING = { slice_by: ['sex'], buckets: {}, model_thresholds: {} };
  const THRESHOLDS = {
    a: { '': 0.4, 'sex:f': 0.3, 'sex:m': 0.4, 'age:< 30': 0.9 },
    b: { '': 0.7 },
  };
  const getDefault = (model: string): number => (model === 'a' ? 0.4 : 0.7);

  test('slices by the chosen columns decide with thresholds of their own', () => {
    expect(selectSliceThresholds(THRESHOLDS, SLICING, getDefault)).toEqual({
      ...SLICING,
      thresholds: { a: { 'sex:f': 0.3 } },
    });
  });

  test('crossed slices are other slices than those of one column', () => {
    const slicing = { ...SLICING, slice_by: ['sex', 'age'] };
    expect(selectSliceThresholds(THRESHOLDS, slicing, getDefault)).toBeNull();
    const crossed = { a: { 'sex_X_age:f_X_< 30': 0.1 } };
    expect(selectSliceThresholds(crossed, slicing, getDefault)?.thresholds).toEqual(crossed);
  });

  test('without slices there is one threshold', () => {
    expect(selectSliceThresholds(THRESHOLDS, { ...SLICING, slice_by: [] }, getDefault)).toBeNull();
  });

  test('other bins are other slices', () => {
    expect(removeSliceThresholds(THRESHOLDS, ['sex'])).toEqual({
      a: { '': 0.4, 'age:< 30': 0.9 },
      b: { '': 0.7 },
    });
  });

  test('the number of slices is known for categories and bins', () => {
    const sex = { name: 'sex', missing: 0, distinct: 2 };
    const age = { name: 'age', missing: 3, distinct: null };
    const slicing = { slice_by: ['sex', 'age'], buckets: { age: { quantiles: 4 } } };
    expect(countSlices({ ...slicing, model_thresholds: {} }, [sex, age])).toBe(10);
    expect(countSlices({ ...slicing, buckets: {}, model_thresholds: {} }, [sex, age])).toBe(
      Infinity,
    );
  });

  test('values that contain the separator of crossed columns are distinguished', () => {
    const columns = ['one', 'two'];
    const name = String.raw`one_X_two:a_\X_b_X_X`;
    expect(parseSlice(name, columns)).toEqual([
      { column: 'one', value: 'a_X_b' },
      { column: 'two', value: 'X' },
    ]);
    expect(formatSlice(name, columns)).toBe('one: a_X_b · two: X');
    expect(parseSlice(String.raw`one:\X_\X_\\X`, ['one'])).toEqual([
      { column: 'one', value: String.raw`X_X_\X` },
    ]);
  });
});

describe('chart images', () => {
  test('cells have the color and text of the table', () => {
    const image = makeHeatmapImage(
      {
        ...{ xTitle: 'age', yTitle: 'job' },
        xLabels: ['20', '40', '60'],
        yLabels: ['clerk', 'nurse'],
        rows: [0, 1].map((row) =>
          [0, 1, 2].map((column) => ({ text: `0.${row}${column}`, place: column / 2 })),
        ),
      },
      (text, { size }) => text.length * size * 0.5,
    );
    const svg = image.exportSvg('Dependence on age × job');
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
    expect(texts).toEqual([
      ...['Dependence on age × job', 'age', 'job', '20', '40', '60'],
      ...['clerk', '0.00', '0.01', '0.02', 'nurse', '0.10', '0.11', '0.12'],
    ]);
    const fills = [...svg.matchAll(/<rect[^>]*fill="([^"]+)"/g)].map(([, fill]) => fill);
    expect(fills).toHaveLength(7); // the background and six cells
    expect(fills[1]).toBe(fills[4]);
    expect(fills[1]).not.toBe(fills[3]);
  });

  test('a bar has a line at each of its marks', () => {
    const marks = [{ label: 'Threshold', value: 0.5 }];
    const image = makeBarChartImage(
      [
        { label: 'clerk', color: '#000', value: 1, marks },
        { label: 'nurse', color: '#000', value: 0.2 },
      ],
      (text, { size }) => text.length * size * 0.5,
    );
    const svg = image.exportSvg('Dependence on job');
    expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
  });
});

describe('feature bars', () => {
  const STEEP = {
    model: 'steep',
    color: 'red',
    values: [
      { feature: 'age', value: 0.1 },
      { feature: 'sex', value: -0.4 },
    ],
  };
  const FLAT = {
    model: 'flat',
    color: 'blue',
    values: [
      { feature: 'job', value: 3 },
      { feature: 'age', value: 2 },
    ],
  };

  test('the largest contribution comes first', () => {
    expect(makeFeatureBars([STEEP]).map(({ label }) => label)).toEqual(['sex', 'age']);
    const bars = makeFeatureBars([STEEP], ({ value }) => value);
    expect(bars.map(({ label }) => label)).toEqual(['age', 'sex']);
  });

  test('the bars of all models are beside each other', () => {
    const bars = makeFeatureBars([STEEP, FLAT]);
    expect(bars.map(({ label, value, color }) => [label, value, color])).toEqual([
      ['sex · steep', -0.4, 'red'],
      ['age · steep', 0.1, 'red'],
      ['age · flat', 2, 'blue'],
      ['job · flat', 3, 'blue'],
    ]);
    expect(makeFeatureBars([{ ...STEEP, values: [] }, FLAT])).toHaveLength(2);
  });
});

describe('model comparison', () => {
  const predicted = (...codes: number[]) => ({
    name: 'predicted',
    numbers: null,
    codes: Int32Array.from(codes),
    categories: ['0', '1'],
  });
  const score = (...values: number[]) => ({
    name: 'score',
    numbers: Float64Array.from(values),
    codes: null,
    categories: [],
  });
  const ROWS = Int32Array.of(0, 2, 5);

  test('the largest disagreement comes first', () => {
    const one = { predicted: predicted(0, 1, 0), score: score(0.4, 0.9, 0.1) };
    const other = { predicted: predicted(1, 1, 1), score: score(0.6, 0.8, 0.9) };
    const { rows, count } = listDisagreements(ROWS, [one, other], 10);
    expect(count).toBe(2);
    expect(rows.map(({ row }) => row)).toEqual([5, 0]);
    expect(rows[0]?.difference).toBeCloseTo(0.8);
  });

  test('regression models differ by their values', () => {
    const one = { predicted: null, score: score(1, 2, 3) };
    const other = { predicted: null, score: score(1, 4, 2) };
    const { rows, count } = listDisagreements(ROWS, [one, other], 1);
    expect(count).toBe(2);
    expect(rows.map(({ row }) => row)).toEqual([2]);
  });

  test('several models are compared with the first one', () => {
    const one = { predicted: predicted(0, 1, 0), score: score(0.4, 0.9, 0.1) };
    const same = { predicted: predicted(0, 1, 0), score: score(0.3, 0.9, NaN) };
    const other = { predicted: predicted(0, 0, 1), score: score(0.3, 0.4, 0.8) };
    const { rows, count } = listDisagreements(ROWS, [one, same, other], 10);
    expect(count).toBe(2);
    expect(rows.map(({ row }) => row)).toEqual([5, 2]);
    expect(rows[1]?.classes).toEqual(['1', '1', '0']);
    expect(rows[1]?.difference).toBeCloseTo(-0.5);
  });

  test('flips are counted by class', () => {
    const { classes, weight } = countFlips(predicted(0, 1, 0), predicted(1, 1, 0));
    expect(classes).toEqual(['0', '1']);
    expect(weight).toEqual([1, 1, 0, 1]);
  });
});

describe('threshold lines', () => {
  const X = Float64Array.of(0, 10, 30);
  const NONE = { slices: [], copies: [] } as const;

  function describe(models: readonly ModelThresholds[]): [string, number[]][] {
    return makeThresholdLines(models, X).map(({ label, y }) => [label, [...y]]);
  }

  test('one threshold needs no label, and different ones name their models', () => {
    const [steep, flat] = [
      { model: 'steep', overall: 0.6, ...NONE },
      { model: 'flat', overall: 0.5, ...NONE },
    ];
    expect(describe([steep])).toEqual([['', [0.6, 0.6]]]);
    expect(describe([steep, { ...flat, overall: 0.6 }])).toEqual([['', [0.6, 0.6]]]);
    expect(describe([steep, flat])).toEqual([
      ['steep', [0.6, 0.6]],
      ['flat', [0.5, 0.5]],
    ]);
  });

  test('each threshold of slices has a line', () => {
    const slices = [
      { title: 'sex: f', threshold: 0.2 },
      { title: 'sex: m', threshold: 0.6 },
    ];
    const steep = { model: 'steep', overall: 0.6, slices, copies: [] };
    expect(describe([steep])).toEqual([
      ['sex: f', [0.2, 0.2]],
      ['sex: m, Other datapoints', [0.6, 0.6]],
    ]);
    expect(describe([{ ...steep, overall: null }])).toEqual([
      ['sex: f', [0.2, 0.2]],
      ['sex: m', [0.6, 0.6]],
    ]);
    expect(describe([steep, { model: 'flat', overall: 0.2, ...NONE }])).toEqual([
      ['sex: f · steep, flat', [0.2, 0.2]],
      ['sex: m · steep, Other datapoints · steep', [0.6, 0.6]],
    ]);
  });

  test('copies of a datapoint have the threshold of their own slice', () => {
    const local = { model: 'steep', overall: 0.6, slices: [] };
    expect(describe([{ ...local, copies: Float64Array.of(0.2, 0.2, 0.2) }])).toEqual([
      ['', [0.2, 0.2]],
    ]);
    const [line] = makeThresholdLines([{ ...local, copies: Float64Array.of(0.2, 0.2, 0.8) }], X);
    expect([...(line?.x ?? [])]).toEqual([0, 5, 5, 20, 20, 30]);
    expect([...(line?.y ?? [])]).toEqual([0.2, 0.2, 0.2, 0.2, 0.8, 0.8]);
  });

  test('bars are marked at the thresholds of slices, or at that of their own copy', () => {
    const slices = [{ title: 'sex: f', threshold: 0.2 }];
    expect(makeThresholdMarks({ overall: 0.6, slices: [], copies: [] }, 1, 2)).toEqual([
      { label: 'Threshold', value: 0.6 },
    ]);
    expect(makeThresholdMarks({ overall: 0.6, slices, copies: [] }, 1, 2)).toEqual([
      { label: 'Threshold of sex: f', value: 0.2 },
      { label: 'Threshold of Other datapoints', value: 0.6 },
    ]);
    const copies = Float64Array.of(0.2, 0.8);
    expect(makeThresholdMarks({ overall: 0.6, slices: [], copies }, 1, 2)).toEqual([
      { label: 'Threshold', value: 0.8 },
    ]);
  });
});

describe('model spec', () => {
  test('a served model has the name of the server unless one is given', () => {
    const form = { ...makeModelForm(), address: 'localhost:8500', model: 'census', version: '3' };
    expect(makeModelSpec(form)).toEqual({
      type: 'grpc',
      name: 'census',
      address: 'localhost:8500',
      model: 'census',
      version: 3,
      signature: null,
      method: 'classify',
      input: null,
      output: null,
      timeout_s: 30,
    });
    expect(makeModelSpec({ ...form, name: 'new' }).name).toBe('new');
    expect(isComplete(form)).toBe(true);
    expect(isComplete({ ...form, model: '' })).toBe(false);
  });

  test('a second model of the same name gets its version or a number', () => {
    const form = { ...makeModelForm(), address: 'localhost:8500', model: 'census', version: '3' };
    const spec = makeModelSpec(form, ['census']);
    expect(spec).toMatchObject({ name: 'census v3', model: 'census', version: 3 });
    expect(makeModelSpec(form, ['census', 'census v3']).name).toBe('census 2');
    const latest = { ...form, version: '' };
    expect(makeModelSpec(latest, ['census', 'census 2']).name).toBe('census 3');
    expect(makeModelSpec({ ...form, name: 'census' }, ['census']).name).toBe('census');
  });

  test('columns are separated by commas', () => {
    const form = { ...makeModelForm(), kind: 'columns' as const, columns: 'p0, p1,' };
    expect(makeModelSpec(form)).toEqual({
      type: 'columns',
      name: 'columns',
      columns: ['p0', 'p1'],
    });
  });

  test('a file has its own name', () => {
    const form = { ...makeModelForm(), kind: 'file' as const, path: 'models/a.onnx' };
    expect(makeModelSpec(form)).toEqual({
      type: 'file',
      name: 'a.onnx',
      path: 'models/a.onnx',
      output: 'probabilities',
    });
  });

  describe('class names', () => {
    it('are the lines of a text, without empty lines at the end', () => {
      expect(splitLines(' no \nyes\n\n')).toEqual(['no', 'yes']);
      expect(splitLines('')).toEqual([]);
      // A name is missing; the server says so.
      expect(splitLines('a\n\nb')).toEqual(['a', '', 'b']);
    });

    it('are compared in order', () => {
      expect(isSameList(['a', 'b'], ['a', 'b'])).toBe(true);
      expect(isSameList(['a', 'b'], ['b', 'a'])).toBe(false);
      expect(isSameList(['a'], ['a', 'b'])).toBe(false);
    });
  });
});

describe('image dialog', () => {
  function getAlphas(pixels: Uint8ClampedArray): number[] {
    return Array.from({ length: pixels.length / 4 }, (_, at) => pixels[4 * at + 3] ?? -1);
  }

  test('the largest attribution has half the opacity', () => {
    const pixels = makeSaliencyPixels([1, -2, 0, NaN], 0);
    expect(getAlphas(pixels)).toEqual([64, 128, 0, 0]);
    expect(pixels[0]).toBeGreaterThan(pixels[2] ?? 0);
    expect(pixels[6]).toBeGreaterThan(pixels[4] ?? 0);
  });

  test('small attributions are cut off', () => {
    expect(getAlphas(makeSaliencyPixels([1, 2, 3, 4], 50))).toEqual([0, 0, 96, 128]);
    expect(getAlphas(makeSaliencyPixels([1, 2, 3, 4], 100))).toEqual([0, 0, 0, 128]);
    expect(getAlphas(makeSaliencyPixels([0, 0], 0))).toEqual([0, 0]);
  });
});

test.each(['constructor', '__proto__', 'toString'])(
  'names such as %s have no inherited value',
  (name) => {
    expect(getOwn({}, name)).toBeUndefined();
    expect(getOwn(Object.fromEntries([[name, 3]]), name)).toBe(3);
    expect(getOwn(null, name)).toBeUndefined();
  },
);
