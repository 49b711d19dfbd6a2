import type { Pixels } from './difference';
import type { Compared } from './compared';
import { pathFor, wholePath } from '../data/source';
import type { Images } from '../images.svelte';

/** The longest side of pictures that are compared pixel by pixel; of larger ones a copy is. */
const LONGEST = 2048;

/** Whether all pixels of a picture are compared, as they were logged. */
export function isComparedWhole({ about }: Compared, isStatic: boolean): boolean {
  return Math.max(about.width, about.height) <= (isStatic ? 512 : LONGEST);
}

/** The pixels of a picture as a browser has them: eight bits for each channel. */
export async function readPixels(images: Images, compared: Compared): Promise<Pixels> {
  const { pictures, context } = images;
  const { value, about } = compared;
  const whole = isComparedWhole(compared, context.isStatic) && !context.isStatic;
  const path = whole ? wholePath(value, about) : pathFor(value, about, LONGEST, context.isStatic);
  const image = await pictures.take(path);
  const { naturalWidth: width, naturalHeight: height } = image;
  const surface = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  if (!surface) throw new Error('this browser has no canvas');
  surface.drawImage(image, 0, 0);
  return surface.getImageData(0, 0, width, height);
}
