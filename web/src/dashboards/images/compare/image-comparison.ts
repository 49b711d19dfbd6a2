import type { ImageInfo } from '../../../api/schemas';
import { indexAtStep } from '../../../cards/steps/step-selection.svelte';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/images';
import { formatStep } from '../../../lib/format';
import type { VisibleRun } from '../../../plugin/context';
import { displaySize, type ImageTransform, type Point } from '../image-layout';
import type { ImageLoader } from '../image-loader.svelte';
import type { ImagePair, ImageRef } from '../images-state.svelte';
import { ImageValue, originalPath, type RunSeries, thumbnailPath } from '../query';

/** One of two compared images. */
export interface ComparedImage {
  readonly value: ImageValue;
  readonly info: ImageInfo;
  readonly run: VisibleRun;
}

export type ComparedPair = readonly [ComparedImage, ComparedImage];

export function comparedImageLabel({ run, value }: ComparedImage): string {
  return common.runAtStep({ run: run.label, step: formatStep(value.step) });
}

/** Return two runs, or the first and the current step of the only run. */
export function defaultImagePair(
  series: readonly RunSeries[],
  part: number | null,
): ImagePair | null {
  const [first, second] = series;
  if (!first) return null;
  const makeRef = (run: string, step: number | null = null): ImageRef => ({
    run,
    step,
    part: part ?? 0,
  });
  if (second) return [makeRef(first.run.name), makeRef(second.run.name)];
  return [makeRef(first.run.name, first.steps.step[0] ?? null), makeRef(first.run.name)];
}

/** Return the value of a side; null if there is none up to its step. */
export function findImageValue(
  series: readonly RunSeries[],
  ref: ImageRef,
  step: number | null,
): ImageValue | null {
  const found = series.find(({ run }) => run.name === ref.run);
  if (!found) return null;
  const position = indexAtStep(found.steps, ref.step ?? step);
  return position < 0 ? null : new ImageValue(found.steps, position);
}

export function updateImagePair(
  [a, b]: ImagePair,
  side: 0 | 1,
  change: Partial<ImageRef>,
): ImagePair {
  return side === 0 ? [{ ...a, ...change }, b] : [a, { ...b, ...change }];
}

/** Return the positions of two images over each other. The second gets the width of the first. */
export function stackTransforms(
  [a, b]: ComparedPair,
  transform: ImageTransform,
): readonly [ImageTransform, ImageTransform] {
  const scale = (transform.scale * displaySize(a.info).width) / displaySize(b.info).width;
  return [transform, { ...transform, scale }];
}

/** RGBA pixels, row by row. */
export interface PixelBuffer {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

export interface PixelDifference {
  readonly width: number;
  readonly height: number;
  /** Largest difference of any channel including alpha, from 0 to 255. */
  readonly max: number;
  /** The first pixel with the largest difference; null if the images are identical. */
  readonly maxAt: Point | null;
  /** Mean over all pixels and color channels. */
  readonly mean: number;
  /** Fraction of the pixels that differ. */
  readonly changedShare: number;
  /** The difference of each color channel, as opaque RGBA. */
  readonly data: Uint8ClampedArray<ArrayBuffer>;
}

/** Compare the common area of two images, aligned at the upper left corner. */
export function computeDifference(one: PixelBuffer, other: PixelBuffer): PixelDifference {
  const width = Math.min(one.width, other.width);
  const height = Math.min(one.height, other.height);
  const data = new Uint8ClampedArray(width * height * 4);
  let [max, maxIndex, sum, changed] = [0, -1, 0, 0];
  for (let y = 0; y < height; y++) {
    let [a, b, to] = [y * one.width * 4, y * other.width * 4, y * width * 4];
    for (const end = to + width * 4; to < end; a += 4, b += 4, to += 4) {
      const red = channelDifference(one.data, a, other.data, b);
      const green = channelDifference(one.data, a + 1, other.data, b + 1);
      const blue = channelDifference(one.data, a + 2, other.data, b + 2);
      const alpha = channelDifference(one.data, a + 3, other.data, b + 3);
      const largest = Math.max(red, green, blue, alpha);
      data[to] = red;
      data[to + 1] = green;
      data[to + 2] = blue;
      data[to + 3] = 255;
      sum += red + green + blue;
      if (largest > 0) changed++;
      if (largest > max) [max, maxIndex] = [largest, to / 4];
    }
  }
  const pixels = Math.max(1, width * height);
  return {
    width,
    height,
    max,
    maxAt: maxIndex < 0 ? null : { x: maxIndex % width, y: Math.floor(maxIndex / width) },
    mean: sum / (3 * pixels),
    changedShare: changed / pixels,
    data,
  };
}

/** Multiply the color channels, so that small differences are visible. */
export function amplify(data: Uint8ClampedArray, gain: number): Uint8ClampedArray<ArrayBuffer> {
  const out = new Uint8ClampedArray(data.length);
  for (let at = 0; at < data.length; at++)
    out[at] = at % 4 === 3 ? 255 : (data[at] as number) * gain;
  return out;
}

function channelDifference(
  one: Uint8ClampedArray,
  index: number,
  other: Uint8ClampedArray,
  otherIndex: number,
): number {
  return Math.abs((one[index] as number) - (other[otherIndex] as number));
}

/** Of larger images, thumbnails are compared. */
const MAX_COMPARED_SIDE_PX = 2048;
const MAX_EXPORTED_SIDE_PX = 512;

/** Return whether all pixels are compared, instead of those of a thumbnail. */
export function isComparedAtFullSize({ info }: ComparedImage, hasOriginals: boolean): boolean {
  const maxSide = hasOriginals ? MAX_COMPARED_SIDE_PX : MAX_EXPORTED_SIDE_PX;
  return Math.max(info.width, info.height) <= maxSide;
}

/** Read the pixels of an image with eight bits per channel. */
export async function readPixels(
  imageLoader: ImageLoader,
  compared: ComparedImage,
  hasOriginals: boolean,
): Promise<PixelBuffer> {
  const { value, info } = compared;
  const path =
    hasOriginals && isComparedAtFullSize(compared, hasOriginals)
      ? originalPath(value, info)
      : thumbnailPath(value, info, MAX_COMPARED_SIDE_PX, hasOriginals);
  const image = await imageLoader.loadImage(path);
  const { naturalWidth: width, naturalHeight: height } = image;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new Error(m.errorNoCanvas);
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, width, height);
}
