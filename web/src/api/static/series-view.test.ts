import { expect, test } from 'vitest';

import {
  applyView,
  compareWithBaseline,
  listRowsInRange,
  makeBaseline,
  smooth,
} from './series-view';
import { makeSeries } from './test-series';

const values = Float64Array.of(1, 2, NaN, 4, 3);
const steps = Float64Array.of(0, 1, 2, 4, 8);

const rounded = (column: Float64Array): number[] =>
  [...column].map((value) => Number(value.toFixed(6)));

/** Worked out by the server's own smoothers. */
test.each([
  ['ema', 0.5, [1, 1.666667, NaN, 3, 3]],
  ['time_ema', 2, [1, 1.585786, NaN, 3.091326, 3.026135]],
  ['mean', 3, [1.5, 1.5, NaN, 3.5, 3.5]],
  ['median', 4, [1.5, 1.5, NaN, 3, 3.5]],
  ['gaussian', 1, [1.395883, 1.814743, NaN, 3.480581, 3.36759]],
] as const)('%s smooths as the server does', (kind, amount, smoothed) => {
  expect(rounded(smooth(values, steps, { kind, amount }))).toEqual(smoothed);
});

test('what never changes stays as it is', () => {
  const flat = Float64Array.of(0.1, 0.1, 0.1);
  expect(smooth(flat, flat, { kind: 'ema', amount: 0.9 })).toBe(flat);
});

const series = makeSeries('a', [5, 6, 7], { step: Float64Array.of(100, 110, 120) });

test.each([
  ['step', [100, 110, 120]],
  ['relative_step', [0, 10, 20]],
  ['relative', [0, 1, 2]],
  ['wall', [1000, 1001, 1002]],
  ['index', [0, 1, 2]],
])('points have their place on the axis %s', (axis, x) => {
  expect([...applyView(series, axis, null, null).x]).toEqual(x);
});

test('points that were left behind still count', () => {
  const thinned = { ...series, index: Int32Array.of(0, 7, 9) };
  expect([...applyView(thinned, 'index', null, null).x]).toEqual([0, 7, 9]);
});

test('another metric stands on the axis with its last value', () => {
  const epoch = makeSeries('a', [0, 1], { step: Float64Array.of(105, 115) });
  const curve = applyView(series, 'metric:epoch', null, epoch);
  expect([[...curve.x], [...curve.value]]).toEqual([
    [0, 1],
    [6, 7],
  ]);
});

test('a clock that went back is put in order', () => {
  const odd = makeSeries('a', [1, 2, 3], { wall_time: Float64Array.of(5, 3, 4) });
  const curve = applyView(odd, 'wall', null, null);
  expect([[...curve.x], [...curve.value], curve.startTime]).toEqual([[3, 4, 5], [2, 3, 1], 5]);
});

test('a range includes its ends', () => {
  const curve = applyView(series, 'step', null, null);
  expect(listRowsInRange(curve, 110, 120)).toEqual([1, 2]);
  expect(listRowsInRange(curve, null, 100)).toEqual([0]);
});

const base = makeBaseline(applyView(makeSeries('base', [2, NaN, 4]), 'step', null, null));

test('runs are compared where the baseline has values', () => {
  const run = applyView(
    makeSeries('a', [3, 6, 9, 9], { step: Float64Array.of(0, 10, 20, 30) }),
    'step',
    null,
    null,
  );
  expect([...compareWithBaseline(run, base, 'difference').value]).toEqual([1, 3, 5]);
  expect([...compareWithBaseline(run, base, 'ratio').value]).toEqual([1.5, 2, 2.25]);
});

test('without a baseline there is nothing to see', () => {
  const run = applyView(makeSeries('a', [3, 6]), 'step', null, null);
  expect(compareWithBaseline(run, undefined, 'ratio').x.length).toBe(0);
});
