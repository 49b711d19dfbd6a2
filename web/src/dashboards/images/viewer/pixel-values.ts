/** Exact values of pixels. A canvas would only have eight bits, premultiplied with alpha. */
import type { ImageInfo, PixelsRequest, PixelsResponse } from '../../../api/schemas';
import type { ImageTransform, Point, Size } from '../image-geometry';
import type { ImageValue } from '../query';

/** Pixels are requested in blocks, so that moving the pointer needs few requests. */
const BLOCK_SIZE_PX = 64;

/** A pixel with the values of the file. */
export interface Pixel extends Point {
  readonly channels: readonly string[];
  readonly values: readonly number[];
  readonly bits: number;
}

/** Return the request for the block that contains a pixel. */
export function makeBlockRequest(
  value: ImageValue,
  part: number,
  { x, y }: Point,
): Required<PixelsRequest> {
  return {
    ...value.request,
    part,
    x: x - (x % BLOCK_SIZE_PX),
    y: y - (y % BLOCK_SIZE_PX),
    width: BLOCK_SIZE_PX,
    height: BLOCK_SIZE_PX,
  };
}

/** Return a pixel of a block; null if it is outside. */
export function findPixel(block: PixelsResponse, { x, y }: Point): Pixel | null {
  const { channels, bits, width, height, values } = block;
  const [column, row] = [x - block.x, y - block.y];
  if (column < 0 || row < 0 || column >= width || row >= height) return null;
  const first = (row * width + column) * channels.length;
  return { x, y, channels, bits, values: channels.map((_, at) => values[first + at] ?? NaN) };
}

/** The same in all languages. */
const CHANNEL_LABELS: Readonly<Record<string, string>> = {
  red: 'R',
  green: 'G',
  blue: 'B',
  alpha: 'A',
};

/** For example `R 12  G 255  B 0`, or `12` for a single channel. */
export function formatPixel({ channels, values }: Pixel): string {
  const format = (value: number): string =>
    Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (channels.length === 1) return format(values[0] ?? NaN);
  return channels
    .map((name, at) => `${CHANNEL_LABELS[name] ?? name} ${format(values[at] ?? NaN)}`)
    .join('  ');
}

/** From this size on, pixels are labeled with their values. In CSS pixels. */
export const MIN_LABELED_PIXEL_PX = 44;

export interface PixelLabel extends Point {
  readonly text: string;
  /** The pixel is dark and needs light text. */
  readonly isDark: boolean;
}

/** Return the pixels of an image that are at least partly visible. */
export function visiblePixels(
  { width, height }: Pick<ImageInfo, 'width' | 'height'>,
  { left, top, scale }: ImageTransform,
  paneSize: Size,
): Point[] {
  const columns = visibleIndexes(left, scale, paneSize.width, width);
  const rows = visibleIndexes(top, scale, paneSize.height, height);
  return rows.flatMap((y) => columns.map((x) => ({ x, y })));
}

function visibleIndexes(offset: number, scale: number, paneSize: number, count: number): number[] {
  const first = Math.max(0, Math.floor(-offset / scale));
  const end = Math.min(count, Math.ceil((paneSize - offset) / scale));
  return Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
}

export function makePixelLabel({ x, y, values, bits, channels }: Pixel): PixelLabel {
  const max = bits === 32 ? 1 : 2 ** bits - 1;
  const [red = 0, green = red, blue = red] = values.slice(0, channels.length < 3 ? 1 : 3);
  const luminance = (0.299 * red + 0.587 * green + 0.114 * blue) / max;
  const text = values.map((value) => String(Number(value.toPrecision(5)))).join('\n');
  return { x, y, text, isDark: luminance < 0.55 };
}
