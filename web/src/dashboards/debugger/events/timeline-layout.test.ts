import { describe, expect, it } from 'vitest';

import { findEventIndex, listTicks, makeBarsPath, zoomRange } from './timeline-layout';

describe('timeline layout', () => {
  it('draws a bar for each column with events', () => {
    const path = makeBarsPath(Float64Array.of(0, 4, 0, 1), 40, 20);
    expect(path.match(/M/g)).toHaveLength(2);
    expect(path).toContain('v-20h');
    expect(makeBarsPath(new Float64Array(4), 40, 20)).toBe('');
  });

  it('finds the first event of a column or after it', () => {
    const counts = Float64Array.of(2, 0, 3);
    expect(findEventIndex(counts, 10, 0)).toBe(10);
    expect(findEventIndex(counts, 10, 1)).toBe(12);
    expect(findEventIndex(counts, 10, 5)).toBe(14);
    expect(findEventIndex(new Float64Array(3), 10, 0)).toBeNull();
  });

  it('lists round ticks', () => {
    expect(listTicks([0, 1], 5)).toHaveLength(6);
    const inner = listTicks([0.31, 0.38], 4);
    expect(inner[0]).toBeCloseTo(0.32);
    expect(inner.length).toBeLessThanOrEqual(5);
    expect(listTicks([1, 1], 5)).toEqual([]);
  });

  it('zooms in either direction and stays in the range', () => {
    expect(zoomRange([10, 20], 0.8, 0.2)).toEqual([12, 18]);
    expect(zoomRange([10, 20], -1, 0.5)).toEqual([10, 15]);
  });
});
