import { expect, test } from 'vitest';

import type { DependenceCurve } from '../../../api/schemas';
import {
  computeVariation,
  findClass,
  findFeature,
  interpolate,
  selectClass,
  selectMatrix,
  sortByVariation,
} from './dependence-curves.svelte';

const CURVE: DependenceCurve = {
  features: ['age'],
  values: [[10, 20]],
  is_numeric: [true],
  class_names: ['no', 'yes'],
  mean: Float64Array.of(0.9, 0.1, 0.4, 0.6),
  standard_error: Float64Array.of(0.01, 0.01, 0.02, 0.02),
  individual: Float32Array.of(1, 0, 0.5, 0.5),
  rows: Int32Array.of(3),
  variation: 0.5,
  thresholds: new Float64Array(),
};

test('the last class is shown unless another is chosen', () => {
  expect(findClass(CURVE, '')).toBe(1);
  expect(findClass(CURVE, 'no')).toBe(0);
  const { mean, individual, rows } = selectClass(CURVE, 1);
  expect([...mean]).toEqual([0.1, 0.6]);
  expect([...(individual[0] ?? [])]).toEqual([0, 0.5]);
  expect(rows).toEqual([3]);
});

test('variation is the way of a line, or the range of bars', () => {
  expect(computeVariation([0, 1, 0], true)).toBe(2);
  expect(computeVariation([0, 1, 0], false)).toBe(1);
});

test('pairs become a matrix with the second feature as lines', () => {
  const pair: DependenceCurve = {
    ...CURVE,
    features: ['a', 'b'],
    values: [
      [0, 1],
      ['x', 'y', 'z'],
    ],
    class_names: [],
    mean: Float64Array.of(1, 2, 3, 4, 5, 6),
  };
  expect(selectMatrix(pair, 0)).toEqual([
    [1, 4],
    [2, 5],
    [3, 6],
  ]);
});

test('the value of a datapoint is found on its curve', () => {
  const [x, y] = [
    [0, 10, 20],
    [1, 3, 2],
  ];
  expect(interpolate(x, y, 5)).toBe(2);
  expect(interpolate(x, y, 20)).toBe(2);
  expect(interpolate(x, y, 0)).toBe(1);
  expect(interpolate(x, y, 21)).toBeNaN();
  expect(interpolate([], [], 0)).toBeNaN();
});

test('items of lists are features of their own', () => {
  const values = [
    { name: 'vector', value: [4, 5] },
    { name: 'odd[1]', value: 7 },
  ];
  expect(findFeature(values, 'vector[1]')).toBe(5);
  expect(findFeature(values, 'odd[1]')).toBe(7);
  expect(findFeature(values, 'none')).toBeUndefined();
});

test('curves are sorted by the variation of the class that is shown', () => {
  const flat = { ...CURVE, features: ['flat'], mean: Float64Array.of(0.2, 0.1, 0.9, 0.1) };
  const names = (...at: number[]) =>
    sortByVariation([CURVE, flat], at).map((one) => one.features[0]);
  expect(names(0)).toEqual(['flat', 'age']);
  expect(names(1)).toEqual(['age', 'flat']);
  // Of several classes, the one that varies most counts.
  expect(names(0, 1)).toEqual(['flat', 'age']);
});
