import type { Raster } from '../../../charts/pen/raster';

/** Lines between neighbouring axes, as pixels; thousands of strokes would take too long. */
export interface Threads {
  readonly width: number;
  readonly height: number;
  /** Pixels of the axes. */
  readonly xs: readonly number[];
  /** For each axis the pixel of each session. */
  readonly heights: readonly Float32Array[];
  /** The sessions that are drawn. */
  readonly rows: Int32Array;
  /** The colour of each session as a place in `shades`. */
  readonly levels: Uint8Array;
  /** Red, green and blue. */
  readonly shades: readonly (readonly number[])[];
  /** How much of the paper one line covers. */
  readonly opacity: number;
}

/** More lines than this in a pixel are as opaque as so many. */
const MOST = 255;

/**
 * Where lines cross, the pixel has the mean of their colours and is the more opaque the more there
 * are. One pixel a column for each line is enough where there are thousands of them.
 */
export function drawThreads(threads: Threads): Raster {
  const { width, height } = threads;
  const counts = new Uint16Array(width * height);
  const sums = new Uint32Array(width * height);
  for (let gap = 0; gap + 1 < threads.xs.length; gap++) drawGap(threads, gap, counts, sums);
  return colour(threads, counts, sums);
}

function drawGap(threads: Threads, gap: number, counts: Uint16Array, sums: Uint32Array): void {
  const { xs, heights, rows, levels, width, height } = threads;
  const [from, to] = [heights[gap], heights[gap + 1]];
  const left = Math.max(0, Math.round(xs[gap] ?? 0));
  const right = Math.min(width, Math.round(xs[gap + 1] ?? 0));
  if (!from || !to || right <= left) return;
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? 0;
    const slope = ((to[row] ?? 0) - (from[row] ?? 0)) / (right - left);
    const level = levels[row] ?? 0;
    let y = from[row] ?? 0;
    for (let x = left; x < right; x++) {
      // Columns lie one after another, so that a line stays close to where it was in memory.
      const place = x * height + (y | 0);
      counts[place] = (counts[place] ?? 0) + 1;
      sums[place] = (sums[place] ?? 0) + level;
      y += slope;
    }
  }
}

function colour(
  { width, height, shades, opacity }: Threads,
  counts: Uint16Array,
  sums: Uint32Array,
): Raster {
  const pixels = new Uint8ClampedArray(4 * width * height);
  const alphas = Uint8Array.from(
    { length: MOST + 1 },
    (_, count) => 255 * (1 - (1 - opacity) ** count),
  );
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const count = counts[x * height + y] ?? 0;
      if (count === 0) continue;
      const shade = shades[Math.round((sums[x * height + y] ?? 0) / count)] ?? [];
      const at = 4 * (y * width + x);
      pixels[at] = shade[0] ?? 0;
      pixels[at + 1] = shade[1] ?? 0;
      pixels[at + 2] = shade[2] ?? 0;
      pixels[at + 3] = alphas[Math.min(MOST, count)] ?? 255;
    }
  }
  return { width, height, pixels };
}
