import type { Places } from '../plane/layout';

/** A field of cells with the mean of the sessions near each. */
export interface Surface {
  readonly size: number;
  /** From 0 to 1 row by row from the top; NaN where no session is near. */
  readonly values: Float64Array;
}

/** As many cells as are told apart in both directions. */
const SIZE = 80;
/** How far a session is felt, in cells; few sessions are felt further. */
const REACH = 3.6;
/** Less than this of a session is as good as none. */
const FAINT = 0.02;

/** What sessions around a place come to, the nearer the more they count. */
export function surfaceOf(places: Places, heights: Float32Array, rows: Int32Array): Surface {
  const sums = new Float64Array(SIZE * SIZE);
  const weights = new Float64Array(SIZE * SIZE);
  let count = 0;
  for (const row of rows) {
    const [x, y, height] = [places.x[row] ?? NaN, places.y[row] ?? NaN, heights[row] ?? NaN];
    if (Number.isNaN(x + y + height)) continue;
    const cell = cellOf(1 - y) * SIZE + cellOf(x);
    sums[cell] = (sums[cell] ?? 0) + height;
    weights[cell] = (weights[cell] ?? 0) + 1;
    count += 1;
  }
  const reach = REACH * Math.max(1, Math.sqrt(SIZE / Math.max(1, Math.sqrt(count))) / 1.2);
  const kernel = kernelOf(reach);
  const [blurredSums, blurredWeights] = [blur(sums, kernel), blur(weights, kernel)];
  const values = blurredSums.map((sum, cell) => {
    const weight = blurredWeights[cell] ?? 0;
    return weight > FAINT * (kernel[0] ?? 1) ** 2 ? sum / weight : NaN;
  });
  return { size: SIZE, values };
}

function cellOf(place: number): number {
  return Math.min(SIZE - 1, Math.floor(place * SIZE));
}

/** Half of a bell, from its middle outwards. */
function kernelOf(reach: number): Float64Array {
  const length = Math.ceil(3 * reach) + 1;
  return Float64Array.from({ length }, (_, away) => Math.exp(-0.5 * (away / reach) ** 2));
}

/** First along rows, then along columns: the same as both at once, and faster. */
function blur(field: Float64Array, kernel: Float64Array): Float64Array {
  return blurAlong(blurAlong(field, kernel, 1, SIZE), kernel, SIZE, 1);
}

function blurAlong(
  field: Float64Array,
  kernel: Float64Array,
  step: number,
  stride: number,
): Float64Array {
  const blurred = new Float64Array(field.length);
  for (let line = 0; line < SIZE; line++) {
    for (let at = 0; at < SIZE; at++) {
      let sum = 0;
      for (let other = Math.max(0, at - kernel.length + 1); other < SIZE; other++) {
        const away = Math.abs(other - at);
        if (away >= kernel.length) break;
        sum += (field[line * stride + other * step] ?? 0) * (kernel[away] ?? 0);
      }
      blurred[line * stride + at * step] = sum;
    }
  }
  return blurred;
}
