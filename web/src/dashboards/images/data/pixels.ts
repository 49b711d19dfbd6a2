import type { PixelsAnswer } from '../../../api/images';
import type { Api } from '../../../plugin/context';
import type { Spot } from '../geometry/viewport';
import { Shelf } from '../memory/shelf';
import type { Value } from './value';

/** Side of the squares in which pixels are asked for, so that a moving pointer asks seldom. */
export const SIDE = 64;
const HELD_NUMBERS = 1 << 20;

/** A pixel in the numbers of the file. */
export interface Pixel extends Spot {
  readonly channels: readonly string[];
  readonly values: readonly number[];
  readonly bits: number;
}

/** Reads what pixels are exactly: a canvas would only know eight bits, and not of what is behind. */
export class PixelReader {
  readonly #api: Api;
  readonly #squares = new Shelf<Promise<PixelsAnswer>>(HELD_NUMBERS);

  constructor(api: Api) {
    this.#api = api;
  }

  async read(value: Value, part: number, at: Spot): Promise<Pixel> {
    return takePixel(await this.readSquare(value, part, at), at);
  }

  readSquare(value: Value, part: number, at: Spot): Promise<PixelsAnswer> {
    const corner = { x: at.x - (at.x % SIDE), y: at.y - (at.y % SIDE) };
    const path = value.path('pixels', { part, ...corner, width: SIDE, height: SIDE });
    const found = this.#squares.find(path);
    if (found) return found;
    const square = this.#api.get<PixelsAnswer>(path);
    this.#squares.keep(path, square, SIDE * SIDE * 3);
    square.catch(() => this.#squares.drop(path));
    return square;
  }
}

export function takePixel(square: PixelsAnswer, { x, y }: Spot): Pixel {
  const { channels, bits, width, values } = square;
  const from = ((y - square.y) * width + (x - square.x)) * channels.length;
  return { x, y, channels, bits, values: channels.map((_, at) => values[from + at] ?? NaN) };
}

const SHORT: Readonly<Record<string, string>> = { red: 'R', green: 'G', blue: 'B', alpha: 'A' };

/** The numbers of a pixel with what they stand for: `R 12 G 255 B 0`; of a grey one, `12`. */
export function tellPixel({ channels, values }: Pixel): string {
  const tell = (value: number): string =>
    Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (channels.length === 1) return tell(values[0] ?? NaN);
  return channels.map((name, at) => `${SHORT[name] ?? name} ${tell(values[at] ?? NaN)}`).join('  ');
}
