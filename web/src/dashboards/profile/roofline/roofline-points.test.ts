import { describe, expect, it } from 'vitest';

import type { RooflineResponse } from '../../../api/schemas';
import { makeRooflinePoints, getAxisRanges } from './roofline-points';

type OpTuple = readonly [name: string, ms: number, flops: number, bytes: number];

function makeResponse(rows: readonly OpTuple[], steps = 1): RooflineResponse {
  return {
    device: 'Some Device',
    roofs: [
      { precision: 'fp32', flops_per_s: 1e12 },
      { precision: 'fp16', flops_per_s: 8e12 },
    ],
    bytes_per_s: 1e11,
    is_estimate: false,
    names: rows.map(([name]) => name),
    types: rows.map(() => ''),
    counts: Int32Array.from(rows, () => steps),
    self_ms: Float64Array.from(rows, ([, ms]) => ms),
    flops: Float64Array.from(rows, ([, , flops]) => flops),
    bytes: Float64Array.from(rows, ([, , , bytes]) => bytes),
    longest: Int32Array.from(rows, () => 3),
    steps,
    utilization: null,
  };
}

describe('the roofline', () => {
  it('has the bound of an op and its utilization', () => {
    const [add, mm] = makeRooflinePoints(
      makeResponse([
        ['add', 1, 1e7, 1e8 / 2],
        ['mm', 1, 5e8, 1e6],
      ]),
      null,
    );
    expect(add).toMatchObject({ intensity: 0.2, bound: 'memory', flopsPerS: 1e10 });
    expect(add?.utilization).toBeCloseTo(0.5);
    expect(mm).toMatchObject({ bound: 'compute', flopsPerS: 5e11 });
    expect(mm?.utilization).toBeCloseTo(0.5);
  });

  it('uses the next roof for ops above the lowest', () => {
    const [mm] = makeRooflinePoints(makeResponse([['mm', 1, 4e9, 1e6]]), null);
    expect(mm?.utilization).toBeCloseTo(0.5);
  });

  it('leaves out ops without operations', () => {
    expect(makeRooflinePoints(makeResponse([['copy', 1, 0, 1e6]]), null)).toEqual([]);
  });

  it('has no bound for unknown devices', () => {
    const [mm] = makeRooflinePoints(
      { ...makeResponse([['mm', 1, 1e9, 1e6]]), roofs: [], bytes_per_s: 0 },
      null,
    );
    expect(mm?.bound).toBe('');
    expect(mm?.utilization).toBeNaN();
  });

  it('compares times per step', () => {
    const [mm] = makeRooflinePoints(
      makeResponse([['mm', 4, 1e9, 1e6]], 4),
      makeResponse([['mm', 20, 1e9, 1e6]], 10),
    );
    expect([mm?.ms, mm?.baseline]).toEqual([1, 2]);
  });

  it('has axes for all points and roofs', () => {
    const response = makeResponse([['mm', 1, 5e8, 1e6]]);
    const { x, y } = getAxisRanges(response, makeRooflinePoints(response, null));
    expect(x[0]).toBeLessThanOrEqual(0.1);
    expect(x[1]).toBeGreaterThanOrEqual(500);
    expect(y).toEqual([1e11, 1e13]);
    expect(getAxisRanges({ ...response, roofs: [] }, []).y).toEqual([1, 10]);
  });
});
