import { expect, test } from 'vitest';

import { makeThresholdLines, makeThresholdMarks, type ModelThresholds } from './threshold-lines';

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
