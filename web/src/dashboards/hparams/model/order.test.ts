import { expect, test } from 'vitest';

import { nextOrder, sortRows } from './order';
import { columnOf, sessionsOf } from './samples';

const SESSIONS = sessionsOf(
  columnOf('units', [64, 32, 64, 32, null]),
  columnOf('acc', [0.5, 0.9, 0.8, NaN, 0.7], 'metric'),
);
const ALL = Int32Array.of(0, 1, 2, 3, 4);

test('the first column counts most, and what has no number comes last in both directions', () => {
  const [units, acc] = ['units', 'acc'];
  const by = (...keys: [string, boolean][]): number[] => [
    ...sortRows(
      ALL,
      keys.map(([key, descending]) => ({ key, descending })),
      SESSIONS,
    ),
  ];
  expect(by([acc, false])).toEqual([0, 4, 2, 1, 3]);
  expect(by([acc, true])).toEqual([1, 2, 4, 0, 3]);
  expect(by([units, false], [acc, true])).toEqual([1, 3, 2, 0, 4]);
  expect(by([units, true], [acc, false])).toEqual([0, 2, 1, 3, 4]);
  expect(by(['gone', true])).toEqual([0, 1, 2, 3, 4]);
});

test('a click sorts up, down and not at all; with shift after the others', () => {
  const up = [{ key: 'a', descending: false }];
  const down = [{ key: 'a', descending: true }];
  expect(nextOrder([], 'a', false)).toEqual(up);
  expect(nextOrder(up, 'a', false)).toEqual(down);
  expect(nextOrder(down, 'a', false)).toEqual([]);
  const both = nextOrder(up, 'b', true);
  expect(both).toEqual([...up, { key: 'b', descending: false }]);
  expect(nextOrder(both, 'b', true)).toEqual([...up, { key: 'b', descending: true }]);
  expect(nextOrder([...up, { key: 'b', descending: true }], 'b', true)).toEqual(up);
  expect(nextOrder(both, 'b', false)).toEqual([{ key: 'b', descending: false }]);
});
