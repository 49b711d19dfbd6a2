import { firstAfter, type Part } from '../tiles/part';
import type { Span } from '../view/span';
import { isLit, type Light } from './light';
import { BUSY_STEPS, HUES, type Shades } from './shades';

/** A bar that is wide enough for a word, in pixels of the canvas. */
export interface Wide {
  readonly name: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly height: number;
}

/** How lanes are painted. */
export interface Brush {
  readonly shades: Shades;
  readonly span: Span;
  /** What is looked for; null where all is. */
  readonly lit: Light | null;
  /** The hue of all; null: each has that of its name. */
  readonly hue: number | null;
  /** From how many pixels on a bar is told of. */
  readonly wide: number;
}

/**
 * Bars as pixels. A lane is painted into one line of them that is then copied down, so that a frame
 * costs as much as there are pixels and entries, however many events those stand for, and needs no
 * graphics card.
 */
export class Bars {
  readonly image: ImageData;
  readonly #pixels: Uint32Array;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.image = new ImageData(Math.max(1, width), Math.max(1, height));
    this.#pixels = new Uint32Array(this.image.data.buffer);
  }

  fill(colour: number, top = 0, bottom = this.height): void {
    this.#pixels.fill(colour, this.width * Math.max(0, top), this.width * Math.max(0, bottom));
  }

  /** A line down, as where a step begins. */
  rule(x: number, colour: number, top: number, bottom: number): void {
    if (x < 0 || x >= this.width) return;
    for (let y = Math.max(0, top); y < bottom; y++) this.#pixels[y * this.width + x] = colour;
  }

  /** A stripe from side to side of a part of the height. */
  stripe(left: number, right: number, colour: number, top: number, bottom: number): void {
    const [from, to] = [Math.max(0, left), Math.min(this.width, right)];
    if (from >= to) return;
    for (let y = Math.max(0, top); y < bottom; y++)
      this.#pixels.fill(colour, y * this.width + from, y * this.width + to);
  }

  /** Paints a lane of some parts from `top` to `bottom`, where `clip` is not, and tells of what is wide. */
  lane(
    parts: readonly Part[],
    lane: number,
    [top, bottom]: readonly [number, number],
    clip: number,
    brush: Brush,
    wides: Wide[],
  ): void {
    const [first, last] = [Math.max(top, clip, 0), Math.min(bottom, this.height)];
    if (first >= last) return;
    const { width } = this;
    const from = first * width;
    const line = this.#pixels.subarray(from, from + width);
    const before = wides.length;
    let painted = 0;
    for (const part of parts) painted = paint(line, part, lane, painted, brush, wides, top, bottom);
    if (painted === 0) return;
    for (let y = first + 1; y < last; y++) this.#pixels.copyWithin(y * width, from, from + width);
    this.#round(wides, before, first, last, brush.shades.paper);
  }

  /** Takes the corners off what is wide. */
  #round(wides: readonly Wide[], since: number, first: number, last: number, paper: number): void {
    for (let at = since; at < wides.length; at++) {
      const { left, right, top, height } = wides[at] as Wide;
      for (const y of [top, top + height - 1]) {
        if (y < first || y >= last) continue;
        this.#pixels[y * this.width + left] = paper;
        this.#pixels[y * this.width + right - 1] = paper;
      }
    }
  }
}

/** Paints the entries of a lane into a line, and returns how far it is painted. */
function paint(
  line: Uint32Array,
  part: Part,
  lane: number,
  since: number,
  brush: Brush,
  wides: Wide[],
  top: number,
  bottom: number,
): number {
  if (lane + 1 >= part.lanes.length) return since;
  const { start, duration, event, count, name, hue, busy } = part;
  const { span, lit, shades, wide } = brush;
  const scale = line.length / (span.end - span.start);
  const to = part.lanes[lane + 1] ?? 0;
  let painted = since;
  for (let at = firstAfter(part, part.lanes[lane] ?? 0, to, span.start); at < to; at++) {
    const began = start[at] as number;
    if (began >= span.end) break;
    let left = Math.floor((began - span.start) * scale);
    let right = Math.floor((began + (duration[at] as number) - span.start) * scale);
    if (right - left >= 4) right -= 1;
    else if (right <= left) right = left + 1;
    if (right <= painted) continue;
    if (left < painted) left = painted;
    if (right > line.length) right = line.length;
    const isOne = count[at] === 1;
    const isFound = lit === null || isLit(lit, name[at] as number, event[at] as number);
    const colours = isFound ? shades.bars : shades.pale;
    const step = isOne ? BUSY_STEPS - 1 : (busy[at] as number) >> 5;
    const colour = colours[((brush.hue ?? (hue[at] as number)) % HUES) * BUSY_STEPS + step] ?? 0;
    if (right - left === 1) line[left] = colour;
    else line.fill(colour, left, right);
    painted = right;
    if (isOne && right - left >= wide)
      wides.push({ name: name[at] as number, left, right, top, height: bottom - top });
  }
  return painted;
}
