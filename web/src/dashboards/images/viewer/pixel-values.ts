import type { QueryCache } from '../../../api/query-cache';
import type { ImageTransform, Point, Size } from '../image-geometry';
import { type ImageValue, pixelsQuery } from '../query';
import type { ImageInfo, PixelsResponse } from '../../../api/schemas';

/** Side of the squares in which pixels are asked for, so that a moving pointer asks seldom. */
export const PIXEL_BLOCK_SIZE_PX = 64;

/** A pixel in the numbers of the file. */
export interface Pixel extends Point {
  readonly channels: readonly string[];
  readonly values: readonly number[];
  readonly bits: number;
}

/** Reads what pixels are exactly: a canvas would only know eight bits, and not of what is behind. */
export class PixelReader {
  readonly #queries: QueryCache;

  constructor(queries: QueryCache) {
    this.#queries = queries;
  }

  async readPixel(value: ImageValue, part: number, at: Point): Promise<Pixel> {
    return pixelFromBlock(await this.readBlock(value, part, at), at);
  }

  readBlock(value: ImageValue, part: number, at: Point): Promise<PixelsResponse> {
    return this.#queries.fetch(pixelsQuery, {
      ...value.request,
      part,
      x: at.x - (at.x % PIXEL_BLOCK_SIZE_PX),
      y: at.y - (at.y % PIXEL_BLOCK_SIZE_PX),
      width: PIXEL_BLOCK_SIZE_PX,
      height: PIXEL_BLOCK_SIZE_PX,
    });
  }
}

export function pixelFromBlock(square: PixelsResponse, { x, y }: Point): Pixel {
  const { channels, bits, width, values } = square;
  const from = ((y - square.y) * width + (x - square.x)) * channels.length;
  return { x, y, channels, bits, values: channels.map((_, at) => values[from + at] ?? NaN) };
}

const CHANNEL_LABELS: Readonly<Record<string, string>> = {
  red: 'R',
  green: 'G',
  blue: 'B',
  alpha: 'A',
};

/** The numbers of a pixel with what they stand for: `R 12 G 255 B 0`; of a grey one, `12`. */
export function formatPixel({ channels, values }: Pixel): string {
  const tell = (value: number): string =>
    Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (channels.length === 1) return tell(values[0] ?? NaN);
  return channels
    .map((name, at) => `${CHANNEL_LABELS[name] ?? name} ${tell(values[at] ?? NaN)}`)
    .join('  ');
}

/** A pixel is so large, in pixels of the page, that its numbers can be read in it. */
export const MIN_LABELED_PIXEL_PX = 44;

export interface PixelLabel extends Point {
  readonly text: string;
  /** Whether the pixel is so dark that it takes light letters. */
  readonly isDark: boolean;
}

interface VisibleImage {
  readonly value: ImageValue;
  readonly info: ImageInfo;
  readonly transform: ImageTransform;
  readonly paneSize: Size;
}

/** The numbers of all pixels that are seen. */
export async function loadPixelLabels(
  pixels: PixelReader,
  seen: VisibleImage,
): Promise<PixelLabel[]> {
  const { value, info } = seen;
  const spots = visiblePixels(seen);
  const corners = new Map(spots.map((spot) => [blockKey(spot), spot]));
  const squares = new Map<string, PixelsResponse>();
  for (const [corner, spot] of corners)
    squares.set(corner, await pixels.readBlock(value, info.part, spot));
  return spots.flatMap((spot) => {
    const square = squares.get(blockKey(spot));
    return square ? [labelPixel(square, spot)] : [];
  });
}

/** The pixels that lie in the place, wholly or in part. */
export function visiblePixels({ info, transform, paneSize }: Omit<VisibleImage, 'value'>): Point[] {
  const across = visibleIndexes(transform.left, transform.scale, paneSize.width, info.width);
  const down = visibleIndexes(transform.top, transform.scale, paneSize.height, info.height);
  return down.flatMap((y) => across.map((x) => ({ x, y })));
}

function visibleIndexes(from: number, scale: number, room: number, count: number): number[] {
  const first = Math.max(0, Math.floor(-from / scale));
  const end = Math.min(count, Math.ceil((room - from) / scale));
  return Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
}

function blockKey({ x, y }: Point): string {
  return `${Math.floor(x / PIXEL_BLOCK_SIZE_PX)} ${Math.floor(y / PIXEL_BLOCK_SIZE_PX)}`;
}

function labelPixel(square: PixelsResponse, spot: Point): PixelLabel {
  const { values, bits, channels } = pixelFromBlock(square, spot);
  const full = bits === 32 ? 1 : 2 ** bits - 1;
  const [red = 0, green = red, blue = red] = values.slice(0, channels.length < 3 ? 1 : 3);
  const light = (0.299 * red + 0.587 * green + 0.114 * blue) / full;
  const words = values.map((value) => String(Number(value.toPrecision(5)))).join('\n');
  return { ...spot, text: words, isDark: light < 0.55 };
}
