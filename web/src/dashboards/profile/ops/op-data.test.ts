import { describe, expect, it } from 'vitest';

import type { OpsResponse } from '../../../api/schemas';
import { layoutDonut, listOpSides, makeOpRows } from './op-data';

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

const CURRENT = makeResponse([
  ['conv1', 'Conv2D', 0, 4, 8],
  ['conv2', 'Conv2D', 0, 2, 6],
  ['relu', 'Relu', 0, 4, 1],
  ['gemm', 'kernel', 1, 1, 3],
]);

describe('op rows', () => {
  it('have the ops of one side', () => {
    expect(makeOpRows(CURRENT, null, 1, 'op', false).map(({ name }) => name)).toEqual(['gemm']);
    expect(listOpSides(CURRENT, null)).toEqual([0, 1]);
  });

  it('are summed up by type', () => {
    const [conv] = makeOpRows(CURRENT, null, 0, 'type', false);
    expect(conv).toMatchObject({ name: 'Conv2D', opCount: 2, baseline: null });
    expect(conv?.current).toEqual({ count: 6, total: 28, self: 14, longestEvent: 10 });
  });

  it('have times per step, to compare captures with different numbers of steps', () => {
    const baseline = makeResponse([['conv1', 'Conv2D', 0, 40, 40]], 10);
    const rows = makeOpRows(CURRENT, baseline, 0, 'op', true);
    const conv = rows.find(({ name }) => name === 'conv1');
    expect(conv?.current.self).toBe(4);
    expect(conv?.baseline?.self).toBe(4);
  });

  it('include ops that only the baseline has', () => {
    const rows = makeOpRows(CURRENT, makeResponse([['old', 'Old', 0, 2, 2]]), 0, 'type', false);
    const gone = rows.find(({ name }) => name === 'Old');
    expect(gone?.current.self).toBe(0);
    expect(gone?.baseline?.self).toBe(2);
    expect(rows.find(({ name }) => name === 'Relu')?.baseline?.self).toBe(0);
  });
});

const slice = (name: string, value: number) => ({ name, value });

describe('a donut chart', () => {
  it('starts with the largest slice', () => {
    const { slices, total } = layoutDonut([slice('a', 1), slice('b', 3)]);
    expect(slices.map(({ name, share }) => [name, share])).toEqual([
      ['b', 0.75],
      ['a', 0.25],
    ]);
    expect(total).toBe(4);
  });

  it('combines small slices', () => {
    const many = Array.from({ length: 20 }, (_, at) => slice(`op ${at}`, 20 - at));
    const { slices } = layoutDonut(many);
    expect(slices).toHaveLength(8);
    expect(slices.at(-1)).toMatchObject({ name: 'Other', value: 91, isOther: true });
    expect(slices.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  });

  it('draws a single slice as a full ring', () => {
    const [only] = layoutDonut([slice('a', 2)]).slices;
    expect(only?.path).toMatch(/^M0.000 -48.000A48 48 0 1 1 /);
    expect(only?.path).not.toContain('NaN');
  });

  it('has no slices without values', () => {
    expect(layoutDonut([slice('a', 0)])).toEqual({ slices: [], total: 0 });
  });
});
