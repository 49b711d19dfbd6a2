import { expect, test } from 'vitest';

import { mergeSteps, indexAtStep, runSteps } from './step-series';

const series = (...steps: number[]) =>
  runSteps({
    run: 'a',
    tag: 'picture',
    index: Int32Array.from(steps.keys()),
    step: Float64Array.from(steps),
    wall_time: Float64Array.from(steps, (step) => 1000 + step),
    mark: Int32Array.from(steps, (step) => 7 * step),
  });

test('the value at a step is the last one until then', () => {
  const steps = series(0, 10, 20);
  expect([0, 9, 10, 25, null].map((step) => indexAtStep(steps, step))).toEqual([0, 0, 1, 2, 2]);
});

test('before the first step, and without any, there is no value', () => {
  expect(indexAtStep(series(5), 4)).toBe(-1);
  expect(indexAtStep(series(), null)).toBe(-1);
});

test('of a step that was logged twice the later value is seen', () => {
  expect(indexAtStep(series(0, 5, 5, 9), 5)).toBe(2);
});

test('what workers logged in any order is put in that of the steps', () => {
  const { step, index, wallTime, mark } = series(5, 1, 3);
  expect([...step]).toEqual([1, 3, 5]);
  expect([...index]).toEqual([1, 2, 0]);
  expect([...wallTime]).toEqual([1001, 1003, 1005]);
  expect([...mark]).toEqual([7, 21, 35]);
});

test('the steps of several series are each there once', () => {
  expect([...mergeSteps([series(0, 10, 20), series(10, 10, 15), series()])]).toEqual([
    0, 10, 15, 20,
  ]);
});
