import { expect, test } from 'vitest';

import type { SegmentColumns, SnapshotDevice } from '../../../api/schemas';
import { makeCategoryBands, makeSegmentShapes } from './snapshot-data';

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
