import { describe, expect, it } from 'vitest';

import { drawHeatmapRow, findColumn, makeHeatmapScale } from './heatmap-colors';

describe('makeHeatmapScale', () => {
  it('is logarithmic for magnitudes and ignores signs', () => {
    const scale = makeHeatmapScale(Float32Array.of(1, -100, 0, NaN, Infinity), 'norm');
    expect([scale.low, scale.high]).toEqual([1, 100]);
    expect(scale.toShare(10)).toBeCloseTo(0.5);
    expect(scale.toShare(-100)).toBe(1);
    expect(scale.toShare(0)).toBe(0);
    expect(scale.toShare(Infinity)).toBe(1);
    expect(scale.toShare(NaN)).toBeNaN();
  });

  it('is linear for counts and starts at 0', () => {
    const scale = makeHeatmapScale(Float32Array.of(4, 8), 'zeros');
    expect(scale.low).toBe(0);
    expect(scale.toShare(4)).toBe(0.5);
  });

  it('draws equal values with the lowest color', () => {
    expect(makeHeatmapScale(Float32Array.of(3, 3), 'norm').toShare(3)).toBe(0);
    expect(makeHeatmapScale(new Float32Array(), 'norm').toShare(3)).toBe(0);
  });
});

describe('drawHeatmapRow', () => {
  const ramp = new Uint8ClampedArray(4 * 256).map((_, at) => (at % 4 === 3 ? 255 : at >> 2));

  it('marks non-finite cells and leaves missing ones transparent', () => {
    const values = Float32Array.of(1, NaN, 100);
    const scale = makeHeatmapScale(values, 'norm');
    const palette = { ramp, bad: [200, 0, 0] as const };
    const pixels = drawHeatmapRow(values, Float32Array.of(0, 0, 2), scale, palette);
    expect([...pixels.subarray(0, 4)]).toEqual([20, 20, 20, 255]);
    expect(pixels[7]).toBe(0);
    expect([...pixels.subarray(8, 12)]).toEqual([200, 0, 0, 255]);
  });
});

describe('findColumn', () => {
  it('finds the interval of a step', () => {
    const first = Float64Array.of(10, 20, 30);
    expect([5, 10, 19, 20, 99].map((step) => findColumn(first, step))).toEqual([-1, 0, 0, 1, 2]);
  });
});
