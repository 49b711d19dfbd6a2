import { expect, test } from 'vitest';

import type { RunSteps } from '../../../api/values';
import { sampleCurve } from '../curve/sample';
import { groupByStep, keyOf } from './want';

function steps(run: string): RunSteps {
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
  expect(keyOf(sampleCurve('a').row)).toBe(keyOf(steps('a'), 0));
  expect(keyOf(steps('a'), 0)).not.toBe(keyOf(steps('a'), 1));
});

test('curves of one step are asked for at once, and none twice', () => {
  const [one, other] = [steps('a'), steps('b')];
  const groups = groupByStep([
    { steps: one, place: 0, step: 10 },
    { steps: one, place: 1, step: null },
    { steps: other, place: 1, step: null },
    { steps: other, place: 1, step: null },
  ]);
  expect(groups.map((group) => group.map(({ steps: { run }, place }) => [run, place]))).toEqual([
    [
      ['a', 1],
      ['b', 1],
    ],
    [['a', 0]],
  ]);
});
