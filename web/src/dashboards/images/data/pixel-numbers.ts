import type { PartAbout, PixelsAnswer } from '../../../api/images';
import type { Size } from '../geometry/arrange';
import type { Lie, Spot } from '../geometry/viewport';
import { type PixelReader, SIDE, takePixel } from './pixels';
import type { Value } from './value';

/** A pixel is so large, in pixels of the page, that its numbers can be read in it. */
export const READABLE = 44;

export interface PixelNumber extends Spot {
  readonly words: string;
  /** Whether the pixel is so dark that it takes light letters. */
  readonly isDark: boolean;
}

interface Seen {
  readonly value: Value;
  readonly about: PartAbout;
  readonly lie: Lie;
  readonly place: Size;
}

/** The numbers of all pixels that are seen. */
export async function numbersIn(pixels: PixelReader, seen: Seen): Promise<PixelNumber[]> {
  const { value, about } = seen;
  const spots = spotsIn(seen);
  const corners = new Map(spots.map((spot) => [cornerOf(spot), spot]));
  const squares = new Map<string, PixelsAnswer>();
  for (const [corner, spot] of corners)
    squares.set(corner, await pixels.readSquare(value, about.part, spot));
  return spots.flatMap((spot) => {
    const square = squares.get(cornerOf(spot));
    return square ? [numberAt(square, spot)] : [];
  });
}

/** The pixels that lie in the place, wholly or in part. */
export function spotsIn({ about, lie, place }: Omit<Seen, 'value'>): Spot[] {
  const across = span(lie.left, lie.scale, place.width, about.width);
  const down = span(lie.top, lie.scale, place.height, about.height);
  return down.flatMap((y) => across.map((x) => ({ x, y })));
}

function span(from: number, scale: number, room: number, count: number): number[] {
  const first = Math.max(0, Math.floor(-from / scale));
  const end = Math.min(count, Math.ceil((room - from) / scale));
  return Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
}

function cornerOf({ x, y }: Spot): string {
  return `${Math.floor(x / SIDE)} ${Math.floor(y / SIDE)}`;
}

function numberAt(square: PixelsAnswer, spot: Spot): PixelNumber {
  const { values, bits, channels } = takePixel(square, spot);
  const full = bits === 32 ? 1 : 2 ** bits - 1;
  const [red = 0, green = red, blue = red] = values.slice(0, channels.length < 3 ? 1 : 3);
  const light = (0.299 * red + 0.587 * green + 0.114 * blue) / full;
  const words = values.map((value) => String(Number(value.toPrecision(5)))).join('\n');
  return { ...spot, words, isDark: light < 0.55 };
}
