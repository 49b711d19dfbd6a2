/** Attributions of the pixels of an image as colors. */

const POSITIVE = [208, 72, 47] as const;
const NEGATIVE = [47, 111, 208] as const;
/** Opacity of the largest attribution, so that the image stays visible. */
const MAX_ALPHA = 0.5;

/**
 * Return four bytes (RGBA) per pixel: positive attributions are red, negative ones blue.
 *
 * @param cutoff Percentage of pixels with the smallest attributions that are transparent.
 */
export function makeSaliencyPixels(
  values: ArrayLike<number>,
  cutoff: number,
): Uint8ClampedArray<ArrayBuffer> {
  const sizes = Float64Array.from(values, (value) =>
    Number.isFinite(value) ? Math.abs(value) : 0,
  );
  const sorted = sizes.toSorted();
  const hidden = Math.floor((Math.max(0, Math.min(100, cutoff)) / 100) * sorted.length);
  const limit = hidden === 0 ? 0 : (sorted[Math.min(hidden, sorted.length - 1)] ?? 0);
  const most = sorted.at(-1) ?? 0;
  const pixels = new Uint8ClampedArray(4 * sizes.length);
  for (let at = 0; at < sizes.length; at++) {
    const size = sizes[at] ?? 0;
    if (size < limit || size === 0) continue;
    const [red, green, blue] = (values[at] ?? 0) > 0 ? POSITIVE : NEGATIVE;
    pixels[4 * at] = red;
    pixels[4 * at + 1] = green;
    pixels[4 * at + 2] = blue;
    pixels[4 * at + 3] = 255 * MAX_ALPHA * (size / most);
  }
  return pixels;
}
