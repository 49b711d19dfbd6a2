import { expect, test } from 'vitest';

import { findRows, look } from './curve';
import { makeSeries } from './samples';

const series = makeSeries('a', [5, 6, 7], { step: Float64Array.of(100, 110, 120) });

test.each([
  ['step', [100, 110, 120]],
  ['relative_step', [0, 10, 20]],
  ['relative', [0, 1, 2]],
  ['wall', [1000, 1001, 1002]],
  ['index', [0, 1, 2]],
])('points have their place on the axis %s', (axis, x) => {
  expect([...look(series, axis, null, null).x]).toEqual(x);
});

test('points that were left behind still count', () => {
  const thinned = { ...series, index: Int32Array.of(0, 7, 9) };
  expect([...look(thinned, 'index', null, null).x]).toEqual([0, 7, 9]);
});

test('another metric stands on the axis with its last value', () => {
  const epoch = makeSeries('a', [0, 1], { step: Float64Array.of(105, 115) });
  const curve = look(series, 'metric:epoch', null, epoch);
  expect([[...curve.x], [...curve.value]]).toEqual([
    [0, 1],
    [6, 7],
  ]);
});

test('a clock that went back is put in order', () => {
  const odd = makeSeries('a', [1, 2, 3], { wall_time: Float64Array.of(5, 3, 4) });
  const curve = look(odd, 'wall', null, null);
  expect([[...curve.x], [...curve.value], curve.since]).toEqual([[3, 4, 5], [2, 3, 1], 5]);
});

test('a range includes its ends', () => {
  const curve = look(series, 'step', null, null);
  expect(findRows(curve, 110, 120)).toEqual([1, 2]);
  expect(findRows(curve, null, 100)).toEqual([0]);
});
