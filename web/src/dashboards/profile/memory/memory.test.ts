import { describe, expect, it, test } from 'vitest';

import type {
  AllocationColumns,
  AllocatorRow,
  HeapResponse,
  SegmentColumns,
  SnapshotDevice,
} from '../../../api/schemas';
import {
  chooseByteUnit,
  getGrowthPerStep,
  makeAllocationRows,
  makeHeapRows,
  makeMemoryLines,
  makeStepPoints,
  nameUniquely,
  makeCategoryBands,
  makeSegmentShapes,
} from './memory-data';

describe('memory data', () => {
  type AllocationTuple = readonly [
    op: string,
    bytes: number,
    count: number,
    shape?: string,
    region?: string,
  ];

  function makeAllocations(rows: readonly AllocationTuple[]): AllocationColumns {
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

  function makeAllocator(
    rows: readonly AllocationTuple[],
    leaks: readonly AllocationTuple[] = [],
  ): AllocatorRow {
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
        lifetime_peak_bytes: 9,
      },
      ms: Float64Array.of(1, 2, 4),
      heap: Float64Array.of(5, 9, 5),
      stack: Float64Array.of(0, 0, 0),
      cache: Float64Array.of(0, 1, 1),
      events: Int32Array.of(1, 2, 3),
      peak_allocations: makeAllocations(rows),
      leaks: makeAllocations(leaks),
      step_heap_bytes: Float64Array.of(10, 12, 16),
    };
  }

  describe('memory', () => {
    it('is constant until the next event', () => {
      const { x, y } = makeStepPoints(Float64Array.of(1, 2, 4), (at) => [5, 9, 5][at] ?? 0, 0, 1);
      expect([...x]).toEqual([1, 2, 2, 4, 4]);
      expect([...y]).toEqual([5, 5, 9, 9, 5]);
      expect(makeStepPoints(new Float64Array(), () => 0, 0, 1).x).toHaveLength(0);
    });

    it('has a line for reserved memory only if there is any', () => {
      expect(makeMemoryLines(makeAllocator([]), null, 1).map(({ id }) => id)).toEqual([
        'reserved',
        'used',
      ]);
      const baseline = makeAllocator([]);
      expect(makeMemoryLines(makeAllocator([]), baseline, 1).map(({ id }) => id)).toContain(
        'baseline',
      );
    });

    it('is drawn in a unit that fits', () => {
      expect(chooseByteUnit(0)).toEqual({ name: 'B', bytes: 1 });
      expect(chooseByteUnit(11_986_944)).toEqual({ name: 'MB', bytes: 1e6 });
      expect(chooseByteUnit(5e18).name).toBe('TB');
    });

    it('names memory from before the capture, and marks leaks', () => {
      const allocator = makeAllocator(
        [
          ['', 500, 1, '', 'before'],
          ['conv', 400, 4, '[8]'],
        ],
        [['conv', 300, 3, '[8]']],
      );
      const [before, conv] = makeAllocationRows(allocator, null);
      expect(before?.op).toContain('weights');
      expect([before?.isLeaked, conv?.isLeaked]).toEqual([false, true]);
    });

    it('is compared by allocation', () => {
      const [conv] = makeAllocationRows(
        makeAllocator([['conv', 400, 1, '[8]']]),
        makeAllocator([['conv', 100, 1, '[8]']]),
      );
      expect([conv?.bytes, conv?.baseline]).toEqual([400, 100]);
      const [other] = makeAllocationRows(makeAllocator([['relu', 4, 1]]), makeAllocator([]));
      expect(other?.baseline).toBe(0);
    });

    it('has a growth per step', () => {
      expect(getGrowthPerStep(makeAllocator([]))).toBe(3);
    });
  });

  function makeHeapResponse(
    rows: readonly (readonly [where: string, bytes: number])[],
  ): HeapResponse {
    return {
      locations: rows.map(([where]) => where),
      stacks: rows.map(([where]) => `full lax.py:3\n${where}`),
      kinds: rows.map(() => 'buffer'),
      devices: rows.map(() => 'gpu:0'),
      counts: Int32Array.from(rows, () => 1),
      bytes: Float64Array.from(rows, ([, bytes]) => bytes),
      total_bytes: 0,
    };
  }

  describe('a heap profile', () => {
    it('is summed by the line that allocated it', () => {
      const [init, step] = makeHeapRows(
        makeHeapResponse([
          ['init', 5],
          ['step', 3],
          ['init', 1],
        ]),
        null,
      );
      expect(init).toMatchObject({ location: 'init', bytes: 6, count: 2, baseline: null });
      expect(step?.bytes).toBe(3);
    });

    it('includes what only the baseline has', () => {
      const rows = makeHeapRows(makeHeapResponse([['init', 5]]), makeHeapResponse([['step', 3]]));
      expect(rows.map(({ location, bytes, baseline }) => [location, bytes, baseline])).toEqual([
        ['init', 5, 0],
        ['step', 0, 3],
      ]);
    });
  });

  it('numbers programs of the same name', () => {
    const named = nameUniquely(['a', 'b', 'a', 'a'].map((name) => ({ name })));
    expect(named.map(({ name }) => name)).toEqual(['a', 'b', 'a (2)', 'a (3)']);
  });
});

describe('snapshot data', () => {
  test('areas of categories lie on top of each other', () => {
    const column = (name: string, ...bytes: number[]): SnapshotDevice['categories'][number] => ({
      name,
      bytes: Float64Array.from(bytes),
      peak_bytes: 0,
    });
    const device = {
      ms: Float64Array.of(0, 1, 2),
      categories: [
        column('weights', 10, 10, 10),
        column('gradients', 0, 0, 0),
        column('activations', 0, 30, 20),
      ],
    } as unknown as SnapshotDevice;
    const [weights, activations, ...others] = makeCategoryBands(device, 10);
    expect(others).toEqual([]);
    // Memory changes in steps: two points for each value but the last.
    expect(Array.from(weights?.high ?? [])).toEqual([1, 1, 1, 1, 1]);
    expect(Array.from(activations?.low ?? [])).toEqual([1, 1, 1, 1, 1]);
    expect(Array.from(activations?.high ?? [])).toEqual([1, 1, 4, 4, 3]);
  });

  test('free blocks are gaps between those in use', () => {
    const segments = {
      sizes: Float64Array.of(100, 10),
      active: Float64Array.of(30, 0),
      kinds: ['large', 'small'],
      block_segments: Int32Array.of(0, 0, 0, 1),
      block_offsets: Float64Array.of(0, 20, 60, 0),
      block_sizes: Float64Array.of(20, 40, 10, 10),
      block_categories: Int32Array.of(0, -1, 1, -1),
    } as unknown as SegmentColumns;
    const [large, small] = makeSegmentShapes(segments, ['weights', 'gradients']);
    expect(large?.blocks).toEqual([
      { start: 0, size: 0.2, category: 'weights' },
      { start: 0.6, size: 0.1, category: 'gradients' },
    ]);
    expect(small?.blocks).toEqual([]);
  });
});
