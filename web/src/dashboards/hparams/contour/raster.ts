import { channelsOf } from '../../../charts/colour/ramp';
import type { Raster } from '../../../charts/pen/raster';
import type { Surface } from '../model/surface';

/** Steps of one colour make lines of equal height seen. */
const STEPS = 12;
const OPACITY = 200;

/** A surface as a picture; what is not known stays empty. */
export function rasterOfSurface(
  { size, values }: Surface,
  colours: readonly string[],
  isLow: boolean,
): Raster {
  const pixels = new Uint8ClampedArray(4 * size * size);
  const channels = colours.map(channelsOf);
  values.forEach((value, cell) => {
    if (Number.isNaN(value)) return;
    const height = Math.min(1, Math.max(0, isLow ? 1 - value : value));
    const step = Math.min(STEPS - 1, Math.floor(height * STEPS)) / (STEPS - 1);
    const [red = 0, green = 0, blue = 0] = channels[Math.round(step * (colours.length - 1))] ?? [];
    pixels.set([red, green, blue, OPACITY], 4 * cell);
  });
  return { width: size, height: size, pixels };
}
