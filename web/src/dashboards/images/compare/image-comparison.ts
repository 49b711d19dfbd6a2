import { indexAtStep } from '../../../cards/steps/step-series';
import { formatStep } from '../../../lib/format';
import type { VisibleRun } from '../../../plugin/context';
import type { ImageTransform, Point } from '../image-geometry';
import { displaySize } from '../image-layout';
import type { ImagePair, ImageRef } from '../image-settings';
import type { ImagesState, RunSeries } from '../images-state.svelte';
import { ImageValue, originalPath, thumbnailPath } from '../query';
import type { ImageInfo } from '../../../api/schemas';

/** One of two pictures that are compared. */
export interface ComparedImage {
  readonly value: ImageValue;
  readonly info: ImageInfo;
  readonly run: VisibleRun;
}

export function comparedImageLabel({ run, value }: ComparedImage): string {
  return `${run.label}, step ${formatStep(value.step)}`;
}

/** What is compared until somebody says otherwise: two runs, or the first and the last of one. */
export function defaultImagePair(
  series: readonly RunSeries[],
  part: number | null,
): ImagePair | null {
  const [first, second] = series;
  if (!first) return null;
  const side = (run: string, step: number | null = null): ImageRef => ({
    run,
    step,
    part: part ?? 0,
  });
  if (second) return [side(first.run.name), side(second.run.name)];
  return [side(first.run.name, first.steps.step[0] ?? null), side(first.run.name)];
}

/** The value that a side names; null where there is none at or before its step. */
export function findImageValue(
  series: readonly RunSeries[],
  side: ImageRef,
  step: number | null,
): ImageValue | null {
  const found = series.find(({ run }) => run.name === side.run);
  if (!found) return null;
  const place = indexAtStep(found.steps, side.step ?? step);
  return place < 0 ? null : new ImageValue(found.steps, place);
}

export function updateImagePair(pair: ImagePair, at: 0 | 1, change: Partial<ImageRef>): ImagePair {
  const [one, other] = pair;
  return at === 0 ? [{ ...one, ...change }, other] : [one, { ...other, ...change }];
}

/** Where two pictures lie over each other: the second is made as wide as the first. */
export function stackTransforms(
  pair: readonly [ComparedImage, ComparedImage],
  lie: ImageTransform,
): readonly [ImageTransform, ImageTransform] {
  const [one, other] = pair.map(({ info }) => displaySize(info));
  const scale = one && other ? (lie.scale * one.width) / other.width : lie.scale;
  return [lie, { ...lie, scale }];
}

/** Pixels as a canvas gives them: four bytes each, row by row. */
export interface PixelBuffer {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

export interface PixelDifference {
  readonly width: number;
  readonly height: number;
  /** Of any channel, alpha as well, out of 255. */
  readonly max: number;
  /** Where it is first found, row by row; null where the pictures are the same. */
  readonly maxAt: Point | null;
  /** Over all pixels and the colour channels. */
  readonly mean: number;
  /** Share of the pixels that are not the same. */
  readonly changedShare: number;
  /** How far each colour channel is apart; opaque. */
  readonly data: Uint8ClampedArray<ArrayBuffer>;
}

/** How far two pictures are apart where both have pixels, from the upper left corner on. */
export function computeDifference(one: PixelBuffer, other: PixelBuffer): PixelDifference {
  const width = Math.min(one.width, other.width);
  const height = Math.min(one.height, other.height);
  const data = new Uint8ClampedArray(width * height * 4);
  let [largest, place, sum, count] = [0, -1, 0, 0];
  for (let y = 0; y < height; y++) {
    let [a, b, to] = [y * one.width * 4, y * other.width * 4, y * width * 4];
    for (const end = to + width * 4; to < end; a += 4, b += 4, to += 4) {
      const red = channelDifference(one.data, a, other.data, b);
      const green = channelDifference(one.data, a + 1, other.data, b + 1);
      const blue = channelDifference(one.data, a + 2, other.data, b + 2);
      const most = Math.max(
        red,
        green,
        blue,
        channelDifference(one.data, a + 3, other.data, b + 3),
      );
      data[to] = red;
      data[to + 1] = green;
      data[to + 2] = blue;
      data[to + 3] = 255;
      sum += red + green + blue;
      if (most > 0) count++;
      if (most > largest) [largest, place] = [most, to / 4];
    }
  }
  const pixels = Math.max(1, width * height);
  const at = place < 0 ? null : { x: place % width, y: Math.floor(place / width) };
  return {
    width,
    height,
    max: largest,
    maxAt: at,
    mean: sum / (3 * pixels),
    changedShare: count / pixels,
    data,
  };
}

/** The same, so much brighter that small differences are seen. */
export function amplify(data: Uint8ClampedArray, gain: number): Uint8ClampedArray<ArrayBuffer> {
  const out = new Uint8ClampedArray(data.length);
  for (let at = 0; at < data.length; at++)
    out[at] = at % 4 === 3 ? 255 : (data[at] as number) * gain;
  return out;
}

function channelDifference(
  a: Uint8ClampedArray,
  at: number,
  b: Uint8ClampedArray,
  there: number,
): number {
  return Math.abs((a[at] as number) - (b[there] as number));
}

/** The longest side of pictures that are compared pixel by pixel; of larger ones a copy is. */
const MAX_COMPARED_SIDE_PX = 2048;

/** Whether all pixels of a picture are compared, as they were logged. */
export function isComparedAtFullSize({ info }: ComparedImage, isStatic: boolean): boolean {
  return Math.max(info.width, info.height) <= (isStatic ? 512 : MAX_COMPARED_SIDE_PX);
}

/** The pixels of a picture as a browser has them: eight bits for each channel. */
export async function readPixels(
  images: ImagesState,
  compared: ComparedImage,
): Promise<PixelBuffer> {
  const { imageLoader, context } = images;
  const { value, info } = compared;
  const whole = isComparedAtFullSize(compared, context.isStatic) && !context.isStatic;
  const path = whole
    ? originalPath(value, info)
    : thumbnailPath(value, info, MAX_COMPARED_SIDE_PX, context.isStatic);
  const image = await imageLoader.loadImage(path);
  const { naturalWidth: width, naturalHeight: height } = image;
  const surface = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  if (!surface) throw new Error('this browser has no canvas');
  surface.drawImage(image, 0, 0);
  return surface.getImageData(0, 0, width, height);
}
