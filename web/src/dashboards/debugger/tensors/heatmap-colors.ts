import type { ColorTable } from '../../../lib/colors';
import type { Stat } from '../debugger-state.svelte';

/** Values of very different magnitude are compared on a logarithmic scale; counts are not. */
const LOG_STATS: ReadonlySet<Stat> = new Set(['norm', 'max', 'min', 'mean', 'std']);

export interface HeatmapScale {
  /** Smallest and largest value, before the logarithm. */
  readonly low: number;
  readonly high: number;
  /** Return the position of a value from 0 to 1; NaN for values that are not drawn. */
  toShare(value: number): number;
}

/** Return a scale over all values of a matrix. Magnitudes are logarithmic, and 0 is the lowest. */
export function makeHeatmapScale(values: Float32Array, stat: Stat): HeatmapScale {
  const isLog = LOG_STATS.has(stat);
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    const size = Math.abs(value);
    if (!Number.isFinite(size) || (isLog && size === 0)) continue;
    if (size < low) low = size;
    if (size > high) high = size;
  }
  if (low > high) [low, high] = [0, 0];
  if (!isLog) low = 0;
  const transform = isLog ? Math.log : (value: number): number => value;
  const [first, last] = [transform(low), transform(high)];
  return {
    low,
    high,
    toShare(value) {
      if (Number.isNaN(value)) return NaN;
      if (!Number.isFinite(value)) return 1;
      const size = Math.abs(value);
      if (size <= low) return 0;
      return last > first ? Math.min(1, (transform(size) - first) / (last - first)) : 0;
    },
  };
}

export interface HeatmapPalette {
  readonly ramp: ColorTable;
  readonly bad: readonly [number, number, number];
}

/** Return the pixels of one row. `nonFinite` counts NaN and Inf in each cell. */
export function drawHeatmapRow(
  values: Float32Array,
  nonFinite: Float32Array | null,
  scale: HeatmapScale,
  { ramp, bad }: HeatmapPalette,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * values.length);
  values.forEach((value, column) => {
    if ((nonFinite?.[column] ?? 0) > 0) {
      pixels.set([...bad, 255], 4 * column);
      return;
    }
    const share = scale.toShare(value);
    if (Number.isNaN(share)) return;
    // The first colors of the ramp equal the background.
    const index = Math.round(20 + 215 * share);
    pixels.set(ramp.subarray(4 * index, 4 * index + 4), 4 * column);
  });
  return pixels;
}

/** Return the column of a step; -1 before the first one. */
export function findColumn(firstSteps: Float64Array, step: number): number {
  let [low, high] = [0, firstSteps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((firstSteps[middle] ?? Infinity) <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
