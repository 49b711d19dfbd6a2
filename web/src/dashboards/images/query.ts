import {
  makeValueRequest,
  type SortedSteps,
  makeValuePath,
} from '../../cards/steps/step-selection.svelte';
import { defineQuery } from '../../api/query-definition';
import type { ImageInfo, ValueRequest } from '../../api/schemas';
import { type LogRoot, openLogLines, quotePython } from '../../cards/export';
import type { VisibleRun } from '../../plugin/context';
import { layoutImages, type Size } from './image-layout';
import * as common from '../../catalog/common';
import * as m from '../../catalog/images';

/** The values of a tag with the run that logged them. */
export interface RunSeries {
  readonly run: VisibleRun;
  readonly steps: SortedSteps;
}

/** The images of a run that were logged together: one tag, one step. */
export class ImageValue {
  /** Unique among the values of the dashboard. */
  readonly key: string;

  constructor(
    readonly steps: SortedSteps,
    readonly position: number,
  ) {
    this.key = this.path('about');
  }

  get run(): string {
    return this.steps.run;
  }

  get step(): number {
    return this.steps.step[this.position] ?? NaN;
  }

  /** In seconds since 1970. */
  get wallTime(): number {
    return this.steps.wallTime[this.position] ?? NaN;
  }

  get request(): Required<ValueRequest> {
    return makeValueRequest(this.steps, this.position);
  }

  path(route: string, extra: Readonly<Record<string, number>> = {}): string {
    return makeValuePath(route, this.steps, this.position, extra);
  }

  /** Return the value at another position of the series; undefined beyond its ends. */
  neighbor(offset: number): ImageValue | undefined {
    const position = this.position + offset;
    const exists = position >= 0 && position < this.steps.index.length;
    return exists ? new ImageValue(this.steps, position) : undefined;
  }
}

/** The lengths of the longer side of thumbnails. */
const THUMBNAIL_SIZES = [64, 128, 256, 512, 1024, 2048];

/** The only size in a static export. */
const EXPORTED_THUMBNAIL_SIZE = 512;

/** Return the length of the longer side in screen pixels if an image is fitted into a box. */
export function getNeededImageSize({ width, height }: Size, box: Size, pixelRatio: number): number {
  const scale = Math.min(box.width / width, box.height / height) * pixelRatio;
  return Math.max(width, height) * Math.min(1, scale);
}

/** Return the path of an image that is sharp at `side` screen pixels. */
export function getThumbnailPath(
  value: ImageValue,
  info: ImageInfo,
  side: number,
  hasOriginals: boolean,
): string {
  const { part } = info;
  if (!hasOriginals) return value.path('thumbnail', { part, size: EXPORTED_THUMBNAIL_SIZE });
  const size = THUMBNAIL_SIZES.find((one) => one >= side - 0.5);
  if (size !== undefined) return value.path('thumbnail', { part, size });
  return info.tiled ? value.path('thumbnail', { part, size: 2048 }) : getOriginalPath(value, info);
}

/** Return the paths of the thumbnails that are needed to show some images of a value. */
export function listThumbnailPaths(
  value: ImageValue,
  parts: readonly ImageInfo[],
  space: Size,
  hasOriginals: boolean,
): string[] {
  const { tile } = layoutImages(parts, space);
  return parts
    .filter(({ problem, video, frames }) => problem === null && !video && frames === 1)
    .map((info) =>
      getThumbnailPath(value, info, getNeededImageSize(info, tile, devicePixelRatio), hasOriginals),
    );
}

/** Return the path of the original image, in a format that browsers can show. */
export function getOriginalPath(value: ImageValue, { part }: ImageInfo): string {
  return value.path('picture', { part });
}

export function hasAlpha({ mode }: ImageInfo): boolean {
  return /A|P/.test(mode);
}

/** For example "640 × 480 · PNG · 16-bit · grayscale". */
export function describeImage(info: ImageInfo): string {
  const { format, width, height, bits, mode, frames } = info;
  return [
    width > 0 ? common.sizePx({ width: String(width), height: String(height) }) : '',
    format,
    bits > 8 ? m.formatBits({ bits: String(bits) }) : '',
    /^(L|I|F)/.test(mode) ? m.formatGrayscale : '',
    /A/.test(mode) ? m.formatAlpha : '',
    frames > 1 ? m.formatFrames({ count: frames }) : '',
  ]
    .filter(Boolean)
    .join(' · ');
}

/** Number, format and size of the images of a value. */
export const imageInfoQuery = defineQuery('GET images/about', {
  scope: 'immutable',
  select: ({ parts }) => parts,
  cost: (parts) => Math.max(1, parts.length),
  maxCost: 20_000,
});

const MAX_CACHED_PIXEL_VALUES = 2 ** 20;

/** The values of a block of pixels. */
export const pixelsQuery = defineQuery('GET images/pixels', {
  scope: 'immutable',
  cost: ({ values }) => values.length,
  maxCost: MAX_CACHED_PIXEL_VALUES,
  priority: 'high',
});

/** Return the path of a ZIP archive with all images of a tag and some runs. */
export function getArchivePath(tag: string, runs: readonly string[]): string {
  const query = [['tag', tag], ...runs.map((run) => ['runs', run])];
  return `archive?${query.map(([key, value]) => `${key}=${encodeURIComponent(value ?? '')}`).join('&')}`;
}

/** Return Python code that reads the images of a run; without a step, the last ones. */
export function makeImagePythonCode(options: {
  readonly roots: readonly LogRoot[];
  readonly run: string;
  readonly tag: string;
  readonly step: number | null;
}): string {
  const { roots, run, tag, step } = options;
  return [
    ...openLogLines(roots),
    `images = log.images(${quotePython(run)}, ${quotePython(tag)})  # images.step: all steps`,
    `value = ${step === null ? 'images[-1]' : `images.at(${step})`}`,
    'arrays = value.to_arrays()  # each [height, width, channels]',
    '',
  ].join('\n');
}
