import { describe, expect, it } from 'vitest';

import type { KernelsResponse } from '../../../api/schemas';
import { makeKernelRows, summarizeKernels } from './kernel-table';

interface KernelFields {
  readonly name: string;
  readonly op?: string;
  readonly grid?: string;
  readonly total: number;
  readonly occupancy?: number;
  readonly tensor?: number;
  readonly eligible?: number;
}

function makeResponse(kernels: readonly KernelFields[], steps = 2): KernelsResponse {
  const ints = (of: (it: KernelFields) => number): Int32Array => Int32Array.from(kernels, of);
  return {
    devices: [],
    names: kernels.map(({ name }) => name),
    ops: kernels.map(({ op = '' }) => op),
    types: kernels.map(() => ''),
    grids: kernels.map(({ grid = '1,1,1' }) => grid),
    blocks: kernels.map(() => '64,1,1'),
    registers: ints(() => 32),
    shared_bytes: ints(() => 0),
    occupancy: Float32Array.from(kernels, ({ occupancy = NaN }) => occupancy),
    occupancy_kind: 'achieved',
    fill: Float32Array.from(kernels, () => 0.5),
    tensor_cores: Uint8Array.from(kernels, ({ tensor = 0 }) => tensor),
    eligible: Uint8Array.from(kernels, ({ eligible = 0 }) => eligible),
    counts: ints(() => 2),
    total_ms: Float64Array.from(kernels, ({ total }) => total),
    min_ms: Float64Array.from(kernels, ({ total }) => total / 4),
    max_ms: Float64Array.from(kernels, ({ total }) => total),
    longest: ints(() => 7),
    steps,
  };
}

const CURRENT = makeResponse([
  { name: 'gemm', op: 'mm', total: 6, occupancy: 20, tensor: 1, eligible: 1 },
  { name: 'gemm', op: 'mm', grid: '2,1,1', total: 2, occupancy: 60, tensor: 1, eligible: 1 },
  { name: 'sgemm', op: 'addmm', total: 2, tensor: 0, eligible: 1 },
  { name: 'relu', op: 'relu', total: 1 },
]);

describe('kernel rows', () => {
  it('are grouped by launch, kernel or op', () => {
    expect(makeKernelRows(CURRENT, null, 'launch', false)).toHaveLength(4);
    expect(makeKernelRows(CURRENT, null, 'kernel', false)).toHaveLength(3);
    const [mm] = makeKernelRows(CURRENT, null, 'op', false);
    expect(mm).toMatchObject({ op: 'mm', total: 8, count: 4, launchCount: 2, grid: '', min: 0.5 });
    expect(mm?.occupancy).toBe(30);
  });

  it('are compared per step, including kernels that only the baseline has', () => {
    const rows = makeKernelRows(
      CURRENT,
      makeResponse([{ name: 'old', total: 20 }], 10),
      'kernel',
      true,
    );
    expect(rows.find(({ name }) => name === 'gemm')).toMatchObject({ total: 4, baseline: 0 });
    expect(rows.find(({ name }) => name === 'old')).toMatchObject({ total: 0, baseline: 2 });
  });

  it('are summarized by the use of tensor cores', () => {
    const { total, eligible, tensorCores, unknown, occupancy, fill } = summarizeKernels(
      CURRENT,
      false,
    );
    expect([total, eligible, tensorCores, unknown]).toEqual([11, 10, 8, 0]);
    expect(occupancy).toBe(30);
    expect(fill).toBe(0.5);
  });
});
