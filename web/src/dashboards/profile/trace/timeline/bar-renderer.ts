import { parseRgb, RUN_COLORS } from '../../../../lib/colors';
import { findFirstEndingAfter, type TrackTile } from './tile-cache';
import type { TimeSpan } from './time-axis';

/** How much of a colour is in a bar that words stand on. */
const BAR_STRENGTH = { light: 0.52, dark: 0.62 };
const DIMMED_STRENGTH = 0.16;
const STRIPE_STRENGTH = 0.2;
/** A block is the paler the less of its time something went on in it. */
export const BUSY_STEPS = 8;
const MIN_BUSY_STRENGTH = 0.35;

/** Colours as pixels take them, mixed for one paper. */
export interface BarPalette {
  readonly background: number;
  /** A stripe behind tracks, where steps change. */
  readonly stripe: number;
  readonly line: number;
  /** For each hue the colours of blocks from the least busy on; the last is that of an event. */
  readonly bars: Uint32Array;
  /** The same, of what is not looked for. */
  readonly dimmedBars: Uint32Array;
}

export const HUE_COUNT = RUN_COLORS.length;

export function makeBarPalette(paper: string, line: string, isDark: boolean): BarPalette {
  const on = parseRgb(paper);
  const strength = isDark ? BAR_STRENGTH.dark : BAR_STRENGTH.light;
  const ramp = (most: number): Uint32Array =>
    Uint32Array.from(
      RUN_COLORS.flatMap((colour) =>
        Array.from({ length: BUSY_STEPS }, (_, step) => {
          const busy = MIN_BUSY_STRENGTH + ((1 - MIN_BUSY_STRENGTH) * step) / (BUSY_STEPS - 1);
          return packPixel(mixChannels(parseRgb(colour), on, most * busy));
        }),
      ),
    );
  return {
    background: packPixel(on),
    stripe: packPixel(mixChannels(parseRgb(line), on, STRIPE_STRENGTH)),
    line: packPixel(parseRgb(line)),
    bars: ramp(strength),
    dimmedBars: ramp(DIMMED_STRENGTH),
  };
}

/** The colour of a hue, as a swatch beside the name of an event has it. */
export function getHueColor(hue: number): string {
  return RUN_COLORS[hue % HUE_COUNT] ?? RUN_COLORS[0];
}

function mixChannels(one: readonly number[], other: readonly number[], share: number): number[] {
  return one.map((channel, at) => share * channel + (1 - share) * (other[at] ?? 0));
}

/** Little endian, as all machines are that browsers run on. */
function packPixel([red = 0, green = 0, blue = 0]: readonly number[]): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Which events are looked for: by their names, and some by themselves. */
export interface EventHighlight {
  /** One for each name. */
  readonly names: Uint8Array;
  /** A bit for each event. */
  readonly events: Uint8Array;
}

export function makeHighlight(ids: Int32Array, events: Uint8Array): EventHighlight {
  const names = new Uint8Array(ids.reduce((most, id) => Math.max(most, id), 0) + 1);
  for (const id of ids) names[id] = 1;
  return { names, events };
}

export function isHighlighted(
  { names, events }: EventHighlight,
  name: number,
  event: number,
): boolean {
  return names[name] === 1 || (((events[event >> 3] ?? 0) >> (event & 7)) & 1) === 1;
}

/** A bar that is wide enough for a word, in pixels of the canvas. */
export interface LabelSlot {
  readonly name: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly height: number;
}

/** How lanes are painted. */
export interface LaneStyle {
  readonly palette: BarPalette;
  readonly span: TimeSpan;
  /** What is looked for; null where all is. */
  readonly highlight: EventHighlight | null;
  /** The hue of all; null: each has that of its name. */
  readonly hue: number | null;
  /** From how many pixels on a bar is told of. */
  readonly minLabelPx: number;
}

/**
 * Bars as pixels. A lane is painted into one line of them that is then copied down, so that a frame
 * costs as much as there are pixels and entries, however many events those stand for, and needs no
 * graphics card.
 */
export class BarRaster {
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
  fillColumn(x: number, colour: number, top: number, bottom: number): void {
    if (x < 0 || x >= this.width) return;
    for (let y = Math.max(0, top); y < bottom; y++) this.#pixels[y * this.width + x] = colour;
  }

  /** A stripe from side to side of a part of the height. */
  fillRect(left: number, right: number, colour: number, top: number, bottom: number): void {
    const [from, to] = [Math.max(0, left), Math.min(this.width, right)];
    if (from >= to) return;
    for (let y = Math.max(0, top); y < bottom; y++)
      this.#pixels.fill(colour, y * this.width + from, y * this.width + to);
  }

  /** Paints a lane of some parts from `top` to `bottom`, where `clip` is not, and tells of what is wide. */
  drawLane(
    parts: readonly TrackTile[],
    lane: number,
    [top, bottom]: readonly [number, number],
    clip: number,
    brush: LaneStyle,
    wides: LabelSlot[],
  ): void {
    const [first, last] = [Math.max(top, clip, 0), Math.min(bottom, this.height)];
    if (first >= last) return;
    const { width } = this;
    const from = first * width;
    const line = this.#pixels.subarray(from, from + width);
    const before = wides.length;
    let painted = 0;
    for (const part of parts)
      painted = paintLane(line, part, lane, painted, brush, wides, top, bottom);
    if (painted === 0) return;
    for (let y = first + 1; y < last; y++) this.#pixels.copyWithin(y * width, from, from + width);
    this.#round(wides, before, first, last, brush.palette.background);
  }

  /** Takes the corners off what is wide. */
  #round(
    wides: readonly LabelSlot[],
    since: number,
    first: number,
    last: number,
    paper: number,
  ): void {
    for (let at = since; at < wides.length; at++) {
      const { left, right, top, height } = wides[at] as LabelSlot;
      for (const y of [top, top + height - 1]) {
        if (y < first || y >= last) continue;
        this.#pixels[y * this.width + left] = paper;
        this.#pixels[y * this.width + right - 1] = paper;
      }
    }
  }
}

/** Paints the entries of a lane into a line, and returns how far it is painted. */
function paintLane(
  line: Uint32Array,
  part: TrackTile,
  lane: number,
  since: number,
  brush: LaneStyle,
  wides: LabelSlot[],
  top: number,
  bottom: number,
): number {
  if (lane + 1 >= part.lanes.length) return since;
  const { start, duration, event, count, name, hue, busy } = part;
  const { span, highlight, palette, minLabelPx } = brush;
  const scale = line.length / (span.end - span.start);
  const to = part.lanes[lane + 1] ?? 0;
  let painted = since;
  for (let at = findFirstEndingAfter(part, part.lanes[lane] ?? 0, to, span.start); at < to; at++) {
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
    const isFound =
      highlight === null || isHighlighted(highlight, name[at] as number, event[at] as number);
    const colours = isFound ? palette.bars : palette.dimmedBars;
    const step = isOne ? BUSY_STEPS - 1 : (busy[at] as number) >> 5;
    const colour =
      colours[((brush.hue ?? (hue[at] as number)) % HUE_COUNT) * BUSY_STEPS + step] ?? 0;
    if (right - left === 1) line[left] = colour;
    else line.fill(colour, left, right);
    painted = right;
    if (isOne && right - left >= minLabelPx)
      wides.push({ name: name[at] as number, left, right, top, height: bottom - top });
  }
  return painted;
}
