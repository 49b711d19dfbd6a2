import type { Spot } from '../geometry/viewport';

/** Pixels as a canvas gives them: four bytes each, row by row. */
export interface Pixels {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

export interface Difference {
  readonly width: number;
  readonly height: number;
  /** Of any channel, alpha as well, out of 255. */
  readonly largest: number;
  /** Where it is first found, row by row; null where the pictures are the same. */
  readonly at: Spot | null;
  /** Over all pixels and the colour channels. */
  readonly mean: number;
  /** Share of the pixels that are not the same. */
  readonly share: number;
  /** How far each colour channel is apart; opaque. */
  readonly data: Uint8ClampedArray<ArrayBuffer>;
}

/** How far two pictures are apart where both have pixels, from the upper left corner on. */
export function differ(one: Pixels, other: Pixels): Difference {
  const width = Math.min(one.width, other.width);
  const height = Math.min(one.height, other.height);
  const data = new Uint8ClampedArray(width * height * 4);
  let [largest, place, sum, count] = [0, -1, 0, 0];
  for (let y = 0; y < height; y++) {
    let [a, b, to] = [y * one.width * 4, y * other.width * 4, y * width * 4];
    for (const end = to + width * 4; to < end; a += 4, b += 4, to += 4) {
      const red = apart(one.data, a, other.data, b);
      const green = apart(one.data, a + 1, other.data, b + 1);
      const blue = apart(one.data, a + 2, other.data, b + 2);
      const most = Math.max(red, green, blue, apart(one.data, a + 3, other.data, b + 3));
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
  return { width, height, largest, at, mean: sum / (3 * pixels), share: count / pixels, data };
}

/** The same, so much brighter that small differences are seen. */
export function amplify(data: Uint8ClampedArray, gain: number): Uint8ClampedArray<ArrayBuffer> {
  const out = new Uint8ClampedArray(data.length);
  for (let at = 0; at < data.length; at++)
    out[at] = at % 4 === 3 ? 255 : (data[at] as number) * gain;
  return out;
}

function apart(a: Uint8ClampedArray, at: number, b: Uint8ClampedArray, there: number): number {
  return Math.abs((a[at] as number) - (b[there] as number));
}
