import { makeValueRequest, type SortedSteps, valuePath } from '../../api/client';
import { defineQuery } from '../../api/query-definition';
import type { ImageInfo, ValueRequest } from '../../api/schemas';
import type { Size } from './image-geometry';

/** One logged value: the pictures of a tag of a run at a step. */
export class ImageValue {
  /** Tells it from any other value of the log. */
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

  path(verb: string, extra: Readonly<Record<string, number>> = {}): string {
    return valuePath(verb, this.steps, this.position, extra);
  }

  /** The value some places later in the series, or earlier; undefined beyond its ends. */
  neighbor(distance: number): ImageValue | undefined {
    const place = this.position + distance;
    const isThere = place >= 0 && place < this.steps.index.length;
    return isThere ? new ImageValue(this.steps, place) : undefined;
  }
}

/** Longest sides, in pixels, in which the server makes small copies of pictures. */
const THUMBNAIL_SIZES = [64, 128, 256, 512, 1024, 2048];

/** The one that a copy of a board carries. */
const EXPORTED_THUMBNAIL_SIZE = 512;

/** The longest side that a picture takes of the screen, in its pixels, within a box of the page. */
export function neededImageSize({ width, height }: Size, box: Size, devicePixels: number): number {
  const scale = Math.min(box.width / width, box.height / height) * devicePixels;
  return Math.max(width, height) * Math.min(1, scale);
}

/** Where to get a picture that is sharp at `side` pixels of the screen. */
export function thumbnailPath(
  value: ImageValue,
  about: ImageInfo,
  side: number,
  isStatic: boolean,
): string {
  const { part } = about;
  if (isStatic) return value.path('thumbnail', { part, size: EXPORTED_THUMBNAIL_SIZE });
  const size = THUMBNAIL_SIZES.find((one) => one >= side - 0.5);
  if (size !== undefined) return value.path('thumbnail', { part, size });
  return about.tiled ? value.path('thumbnail', { part, size: 2048 }) : originalPath(value, about);
}

/** Where the picture is as it was logged. */
export function originalPath(value: ImageValue, { part }: ImageInfo): string {
  return value.path('picture', { part });
}

/** Whether something behind the picture is seen through it. */
export function hasAlpha({ mode }: ImageInfo): boolean {
  return /A|P/.test(mode);
}

/** What kind of file it is, in few words. */
export function describeImage(about: ImageInfo): string {
  const { format, width, height, bits, mode, frames } = about;
  return [
    width > 0 ? `${width} × ${height}` : '',
    format,
    bits > 8 ? `${bits} bit` : '',
    /^(L|I|F)/.test(mode) ? 'grey' : '',
    /A/.test(mode) ? 'with alpha' : '',
    frames > 1 ? `${frames} frames` : '',
  ]
    .filter(Boolean)
    .join(' · ');
}

/** What a value holds, before any image is loaded: how many images, and of what size. */
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
