import { channelsOf } from '../colour/ramp';
import type { Raster } from '../pen/raster';
import type { Span } from '../types';
import { makeLevel, type Ends } from './ends';
import type { Spread } from './types';

/** A bin with a single number in it is still seen. */
const FAINTEST = 0.07;
const MOST_COLUMNS = 2048;

/**
 * Counts as strengths of a colour: a column of pixels a step, up to half way to its neighbours, and a
 * row of pixels a bin. What has no count lets the paper through.
 */
export function paintHeat(
  spread: Spread,
  grid: Float64Array,
  columns: number,
  steps: Span,
  { most, log }: Ends,
): Raster {
  const bins = grid.length - 1;
  const width = Math.max(1, Math.min(MOST_COLUMNS, Math.round(columns)));
  const pixels = new Uint8ClampedArray(4 * width * bins);
  const [red = 0, green = 0, blue = 0] = channelsOf(spread.colour);
  const level = makeLevel(most, log);
  const near = nearestOf(spread.x, width, steps);
  for (let bin = 0; bin < bins; bin++) {
    const row = (bins - 1 - bin) * width;
    for (let column = 0; column < width; column++) {
      const at = near[column] ?? -1;
      const count = at < 0 ? 0 : (spread.rows[at * bins + bin] ?? 0);
      if (!(count > 0)) continue;
      const strength = FAINTEST + (1 - FAINTEST) * level(count);
      pixels.set([red, green, blue, 255 * strength], 4 * (row + column));
    }
  }
  return { width, height: bins, pixels };
}

/** For each column of pixels the histogram that is nearest; none beyond the first and the last. */
export function nearestOf(x: Float64Array, columns: number, [start, stop]: Span): Int32Array {
  const found = new Int32Array(columns).fill(-1);
  const last = x.length - 1;
  if (last < 0) return found;
  const [before, after] = [reach(x, 0, 1), reach(x, last, last - 1)];
  let at = 0;
  for (let column = 0; column < columns; column++) {
    const place = start + ((column + 0.5) / columns) * (stop - start);
    while (at < last && middleOf(x, at) <= place) at++;
    if (place >= (x[0] ?? 0) - before && place <= (x[last] ?? 0) + after) found[column] = at;
  }
  return found;
}

const middleOf = (x: Float64Array, at: number): number => ((x[at] ?? 0) + (x[at + 1] ?? 0)) / 2;

/** Half the way to a neighbour; a histogram that has none is everywhere. */
function reach(x: Float64Array, at: number, neighbour: number): number {
  const gap = Math.abs((x[neighbour] ?? NaN) - (x[at] ?? 0)) / 2;
  return Number.isNaN(gap) ? Infinity : gap;
}
