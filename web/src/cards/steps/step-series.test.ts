import { expect, test } from 'vitest';

import { mergeSteps, indexAtStep, runSteps } from './step-series';

const series = (...steps: number[]) =>
  runSteps({
    run: 'a',
    tag: 'picture',
    index: Int32Array.from(steps.keys()),
    step: Float64Array.from(steps),
    wall_time: Float64Array.from(steps, (step) => 1000 + step),
    fingerprint: Int32Array.from(steps, (step) => 7 * step),
  });

test('the value at a step is the last one at or before it', () => {
  const steps = series(0, 10, 20);
  expect([0, 9, 10, 25, null].map((step) => indexAtStep(steps, step))).toEqual([0, 0, 1, 2, 2]);
});

test('there is no value before the first step', () => {
  expect(indexAtStep(series(5), 4)).toBe(-1);
  expect(indexAtStep(series(), null)).toBe(-1);
});

test('the later value of a step that was logged twice wins', () => {
  expect(indexAtStep(series(0, 5, 5, 9), 5)).toBe(2);
});

test('steps of several workers are sorted', () => {
  const { step, index, wallTime, fingerprint } = series(5, 1, 3);
  expect([...step]).toEqual([1, 3, 5]);
  expect([...index]).toEqual([1, 2, 0]);
  expect([...wallTime]).toEqual([1001, 1003, 1005]);
  expect([...fingerprint]).toEqual([7, 21, 35]);
});

test('steps of several series are merged without duplicates', () => {
  expect([...mergeSteps([series(0, 10, 20), series(10, 10, 15), series()])]).toEqual([
    0, 10, 15, 20,
  ]);
});
