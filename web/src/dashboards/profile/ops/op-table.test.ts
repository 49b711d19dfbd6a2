import { describe, expect, it } from 'vitest';

import type { OpsResponse } from '../schemas';
import { listOpSides, makeOpRows } from './op-table';

function makeResponse(
  ops: readonly [string, string, number, number, number][],
  steps = 2,
): OpsResponse {
  return {
    names: ops.map(([name]) => name),
    types: ops.map(([, type]) => type),
    sides: Uint8Array.from(ops, ([, , side]) => side),
    counts: Int32Array.from(ops, ([, , , count]) => count),
    total_ms: Float64Array.from(ops, ([, , , , self]) => 2 * self),
    self_ms: Float64Array.from(ops, ([, , , , self]) => self),
    longest: Int32Array.from(ops, (_, at) => at + 10),
    host_idle_ms: 0,
    device_idle_ms: 0,
    steps,
  };
}

const ONE = makeResponse([
  ['conv1', 'Conv2D', 0, 4, 8],
  ['conv2', 'Conv2D', 0, 2, 6],
  ['relu', 'Relu', 0, 4, 1],
  ['gemm', 'kernel', 1, 1, 3],
]);

describe('ops', () => {
  it('are those of one side', () => {
    expect(makeOpRows(ONE, null, 1, 'op', false).map(({ name }) => name)).toEqual(['gemm']);
    expect(listOpSides(ONE, null)).toEqual([0, 1]);
  });

  it('are summed up by type', () => {
    const [conv] = makeOpRows(ONE, null, 0, 'type', false);
    expect(conv).toMatchObject({ name: 'Conv2D', opCount: 2, baseline: null });
    expect(conv?.current).toEqual({ count: 6, total: 28, self: 14, longestEvent: 10 });
  });

  it('are those of one step, so that captures of more steps can be compared', () => {
    const other = makeResponse([['conv1', 'Conv2D', 0, 40, 40]], 10);
    const rows = makeOpRows(ONE, other, 0, 'op', true);
    const conv = rows.find(({ name }) => name === 'conv1');
    expect(conv?.current.self).toBe(4);
    expect(conv?.baseline?.self).toBe(4);
  });

  it('are there where only the other capture has them', () => {
    const rows = makeOpRows(ONE, makeResponse([['old', 'Old', 0, 2, 2]]), 0, 'type', false);
    const gone = rows.find(({ name }) => name === 'Old');
    expect(gone?.current.self).toBe(0);
    expect(gone?.baseline?.self).toBe(2);
    expect(rows.find(({ name }) => name === 'Relu')?.baseline?.self).toBe(0);
  });
});
