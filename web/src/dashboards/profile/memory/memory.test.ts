import { describe, expect, it } from 'vitest';

import type { AllocatorRow, Pieces } from './answers';
import { linesOf, stairs, unitOf } from './curves';
import { growthOf, makeRows } from './rows';

type Told = readonly [op: string, bytes: number, count: number, shape?: string, region?: string];

function pieces(rows: readonly Told[]): Pieces {
  return {
    ops: rows.map(([op]) => op),
    bytes: Float64Array.from(rows, ([, bytes]) => bytes),
    requested: Float64Array.from(rows, ([, bytes]) => bytes),
    counts: Int32Array.from(rows, ([, , count]) => count),
    regions: rows.map(([, , , , region = 'output']) => region),
    types: rows.map(() => 'float32'),
    shapes: rows.map(([, , , shape = '']) => shape),
    events: Int32Array.from(rows, () => 3),
    steps: Int32Array.from(rows, () => 0),
  };
}

function allocator(rows: readonly Told[], leaks: readonly Told[] = []): AllocatorRow {
  return {
    name: 'GPU_0_bfc',
    is_device: true,
    allocations: 2,
    frees: 1,
    capacity: null,
    peak: {
      ms: 2,
      event: 3,
      heap: 9,
      stack: 0,
      cache: 0,
      free: null,
      fragmentation: null,
      ever: 9,
    },
    ms: Float64Array.of(1, 2, 4),
    heap: Float64Array.of(5, 9, 5),
    stack: Float64Array.of(0, 0, 0),
    cache: Float64Array.of(0, 1, 1),
    events: Int32Array.of(1, 2, 3),
    pieces: pieces(rows),
    leaks: pieces(leaks),
    step_heaps: Float64Array.of(10, 12, 16),
  };
}

describe('memory', () => {
  it('stays as it is up to the next event', () => {
    const { x, y } = stairs(Float64Array.of(1, 2, 4), (at) => [5, 9, 5][at] ?? 0, 0, 1);
    expect([...x]).toEqual([1, 2, 2, 4, 4]);
    expect([...y]).toEqual([5, 5, 9, 9, 5]);
    expect(stairs(new Float64Array(), () => 0, 0, 1).x).toHaveLength(0);
  });

  it('has a line for what is held unused only where something is', () => {
    expect(linesOf(allocator([]), null, 1).map(({ id }) => id)).toEqual(['held', 'in use']);
    const other = allocator([]);
    expect(linesOf(allocator([]), other, 1).map(({ id }) => id)).toContain('before');
  });

  it('is drawn in a unit that fits', () => {
    expect(unitOf(0)).toEqual({ name: 'B', bytes: 1 });
    expect(unitOf(11_986_944)).toEqual({ name: 'MB', bytes: 1e6 });
    expect(unitOf(5e18).name).toBe('TB');
  });

  it('names what was there before, and marks what is lost', () => {
    const one = allocator(
      [
        ['', 500, 1, '', 'before'],
        ['conv', 400, 4, '[8]'],
      ],
      [['conv', 300, 3, '[8]']],
    );
    const [before, conv] = makeRows(one, null);
    expect(before?.op).toContain('weights');
    expect([before?.isLost, conv?.isLost]).toEqual([false, true]);
  });

  it('is compared piece by piece', () => {
    const [conv] = makeRows(
      allocator([['conv', 400, 1, '[8]']]),
      allocator([['conv', 100, 1, '[8]']]),
    );
    expect([conv?.bytes, conv?.before]).toEqual([400, 100]);
    const [other] = makeRows(allocator([['relu', 4, 1]]), allocator([]));
    expect(other?.before).toBe(0);
  });

  it('says by how much it grows a step', () => {
    expect(growthOf(allocator([]))).toBe(3);
  });
});
