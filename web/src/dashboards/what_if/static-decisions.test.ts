import { expect, test } from 'vitest';

import type { ColumnValues, StaticSession } from '../../api/schemas';
import { makeRow, selectColumns, selectPerformance } from './static-decisions';

function makeTexts(name: string, codes: number[], categories: string[]): ColumnValues {
  return { name, type: 'string', numbers: null, codes: Int32Array.from(codes), categories };
}

const SCORES = Float64Array.of(0.3, 0.55, 0.8, NaN);
const OVERALL = { slices: ['Overall'] };
const BY_SEX = { slices: ['Overall', 'sex:f', 'sex:m'] };
const SESSION = {
  about: {
    columns: [
      { name: 'score', is_computed: true },
      { name: 'predicted', is_computed: true },
      { name: 'correct', is_computed: true },
    ],
    models: [{ name: 'steep', class_names: ['no', 'yes'] }],
  },
  columns: {
    version: 1,
    rows: Int32Array.of(0, 1, 2, 3),
    columns: [
      { name: 'score', type: 'float', numbers: SCORES, codes: null, categories: [] },
      makeTexts('predicted', [0, 1, 1, -1], ['no', 'yes']),
      // The labels are yes, yes, no and unknown.
      makeTexts('correct', [0, 1, 0, -1], ['incorrect', 'correct']),
    ],
  },
  slicings: [
    { slice_by: [], buckets: {}, model_thresholds: {}, performance: { steep: OVERALL } },
    {
      ...{ slice_by: ['sex'], buckets: {}, model_thresholds: {} },
      ...{ slices: ['sex:m', 'sex:f'], codes: Int32Array.of(1, 0, 0, 0) },
      performance: { steep: BY_SEX },
    },
  ],
} as unknown as StaticSession;

function read(name: string, options: object): (string | undefined)[] {
  const request = { session: 'data', names: [name], ...options };
  const [column] = selectColumns(SESSION, request).columns;
  return Array.from(column?.codes ?? [], (code) => column?.categories[code]);
}

test('classes are decided at the threshold in effect', () => {
  expect(read('predicted', {})).toEqual(['no', 'yes', 'yes', undefined]);
  expect(read('predicted', { threshold: 0.6 })).toEqual(['no', 'no', 'yes', undefined]);
  expect(read('correct', { threshold: 0.6 })).toEqual([
    ...['incorrect', 'incorrect', 'incorrect'],
    undefined,
  ]);
  expect(read('correct', { threshold: 0.9 })[2]).toBe('correct');
  expect(read('predicted', { threshold: 0.3 })[0]).toBe('yes');
  const [column] = selectColumns(SESSION, {
    ...{ session: 'data', names: ['predicted'], threshold: 0.9 },
  }).columns;
  expect(column?.categories).toEqual(['no']);
});

test('slices have thresholds of their own', () => {
  const slices = { slice_by: ['sex'], thresholds: { steep: { 'sex:f': 0.2 } } };
  const options = { threshold: 0.6, slice_thresholds: slices };
  expect(read('predicted', options)).toEqual(['yes', 'no', 'yes', undefined]);
  expect(read('correct', options)[0]).toBe('correct');
  const others = { ...slices, slice_by: ['job'] };
  expect(() => read('predicted', { slice_thresholds: others })).toThrow();
});

test('metrics are those of the requested slices', () => {
  expect(selectPerformance(SESSION, { session: 'data' })).toBe(OVERALL);
  expect(selectPerformance(SESSION, { session: 'data', slice_by: ['sex'] })).toBe(BY_SEX);
  const bins = { slice_by: ['sex'], buckets: { sex: 4 } };
  expect(() => selectPerformance(SESSION, { session: 'data', ...bins })).toThrow();
});

test('rows have their lists, predictions and loaded values', () => {
  const session = {
    about: {
      version: 3,
      columns: [{ name: 'x' }, { name: 'tags', is_list: true }],
      models: [{ name: 'steep' }],
    },
    columns: {
      rows: Int32Array.of(1, 4),
      columns: [
        { name: 'x', type: 'float', numbers: Float64Array.of(1, 2), codes: null, categories: [] },
        { name: 'tags', type: 'string', numbers: Float64Array.of(0, 2), categories: [] },
      ],
    },
    lists: { tags: [[], ['b', 'c']] },
    originals: { 4: { x: 7 } },
    scores: {
      steep: {
        class_names: ['no', 'yes'],
        values: Float64Array.of(0.1, 0.9, 0.2, 0.8),
        earlier: { 4: [[0.7, 0.3]] },
      },
    },
  } as unknown as StaticSession;
  const { values, scores } = makeRow(session, 4);
  expect(values.map(({ value, original }) => [value, original])).toEqual([
    [2, 7],
    [
      ['b', 'c'],
      ['b', 'c'],
    ],
  ]);
  expect(scores[0]?.history).toEqual([
    [0.7, 0.3],
    [0.2, 0.8],
  ]);
  expect(() => makeRow(session, 2)).toThrow();
});
