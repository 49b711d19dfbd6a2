import { expect, test } from 'vitest';
import type { OperatorsResponse } from '../../../api/schemas';
import { formatStack, makeOperatorColumns, makeOperatorRows } from './operator-table';

function makeResponse(names: string[], self: number[], steps = 1): OperatorsResponse {
  const times = Float64Array.from(self);
  return {
    groupings: ['name'],
    names,
    groups: names.map(() => ''),
    kinds: names.map(() => 'op'),
    depths: new Int32Array(names.length),
    counts: Int32Array.from(self, () => 4),
    host_self_ms: times,
    host_total_ms: times,
    device_self_ms: times,
    device_total_ms: times,
    longest: Int32Array.from(self, (_, index) => index),
    steps,
  };
}

test('rows are per step on request', () => {
  const [row] = makeOperatorRows(makeResponse(['mm'], [8], 2), null, true);
  expect(row?.current).toMatchObject({ count: 2, deviceSelf: 4, longestEvent: 0 });
});

test('the baseline is matched by name, and what only it has is kept', () => {
  const rows = makeOperatorRows(
    makeResponse(['mm'], [8]),
    makeResponse(['mm', 'add'], [6, 2]),
    true,
  );
  expect(rows.map(({ name }) => name)).toEqual(['mm', 'add']);
  expect(rows[0]?.baseline?.deviceSelf).toBe(6);
  expect(rows[1]).toMatchObject({ current: { deviceSelf: 0 }, baseline: { deviceSelf: 2 } });
});

test('modules of one name in different places are different rows', () => {
  const tree = {
    ...makeResponse(['Block_0', 'Linear_0', 'Block_1', 'Linear_0'], [1, 2, 3, 4]),
    depths: Int32Array.from([0, 1, 0, 1]),
  };
  const rows = makeOperatorRows(tree, tree, false);
  expect(rows.map(({ baseline }) => baseline?.hostSelf)).toEqual([1, 2, 3, 4]);
});

test('a capture without a device has no columns of device time', () => {
  const response = { ...makeResponse(['mm'], [8]), device_self_ms: new Float64Array(1) };
  const rows = makeOperatorRows(response, null, false);
  const keys = makeOperatorColumns(rows, 'name', false).map(({ key }) => key);
  expect(keys).toEqual(['name', 'count', 'hostSelf', 'hostTotal']);
});

test('formats a stack on one line', () => {
  expect(formatStack('linear\nforward')).toBe('linear ← forward');
});
