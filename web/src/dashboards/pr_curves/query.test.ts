import { expect, test } from 'vitest';

import type { SortedSteps } from '../../api/client';
import { makeTestCurve } from './pr-curve-fixtures';
import { groupByStep, makeCurveKey } from './query.svelte';

function steps(run: string): SortedSteps {
  return {
    run,
    tag: 'pr/cat',
    index: Int32Array.of(0, 1),
    step: Float64Array.of(10, 20),
    wallTime: Float64Array.of(1, 2),
    mark: Int32Array.of(7, 8),
  };
}

test('a curve is found under the key that it was wanted by', () => {
  expect(makeCurveKey(makeTestCurve('a').row)).toBe(makeCurveKey(steps('a'), 0));
  expect(makeCurveKey(steps('a'), 0)).not.toBe(makeCurveKey(steps('a'), 1));
});

test('curves of one step are asked for at once, and none twice', () => {
  const [one, other] = [steps('a'), steps('b')];
  const groups = groupByStep([
    { steps: one, index: 0, step: 10 },
    { steps: one, index: 1, step: null },
    { steps: other, index: 1, step: null },
    { steps: other, index: 1, step: null },
  ]);
  expect(groups.map((group) => group.map(({ steps: { run }, index }) => [run, index]))).toEqual([
    [
      ['a', 1],
      ['b', 1],
    ],
    [['a', 0]],
  ]);
});
