import { parseRgb, RUN_COLORS } from '../../../../lib/colors';
import { findFirstEndingAfter, type TrackTile } from './tile-cache';
import type { TimeSpan } from './timeline-layout';

/** Opacity of bars, on which labels are readable. */
const BAR_STRENGTH = { light: 0.52, dark: 0.62 };
const DIMMED_STRENGTH = 0.16;
const STRIPE_STRENGTH = 0.2;
/** Merged events are paler the less busy they are. */
export const BUSY_STEPS = 8;
const MIN_BUSY_STRENGTH = 0.35;

/** Colors as pixels, mixed with the background. */
export interface BarPalette {
  readonly background: number;
  /** Behind every other step. */
  readonly stripe: number;
  readonly line: number;
  /** For each hue, colors from the least busy to a single event. */
  readonly bars: Uint32Array;
  /** Of events that do not match the search. */
  readonly dimmedBars: Uint32Array;
}

export const HUE_COUNT = RUN_COLORS.length;

export function makeBarPalette(background: string, line: string, isDark: boolean): BarPalette {
  const base = parseRgb(background);
  const strength = isDark ? BAR_STRENGTH.dark : BAR_STRENGTH.light;
  const makeRamp = (opacity: number): Uint32Array =>
    Uint32Array.from(
      RUN_COLORS.flatMap((color) =>
        Array.from({ length: BUSY_STEPS }, (_, step) => {
          const busy = MIN_BUSY_STRENGTH + ((1 - MIN_BUSY_STRENGTH) * step) / (BUSY_STEPS - 1);
          return packPixel(mixChannels(parseRgb(color), base, opacity * busy));
        }),
      ),
    );
  return {
    background: packPixel(base),
    stripe: packPixel(mixChannels(parseRgb(line), base, STRIPE_STRENGTH)),
    line: packPixel(parseRgb(line)),
    bars: makeRamp(strength),
    dimmedBars: makeRamp(DIMMED_STRENGTH),
  };
}

export function getHueColor(hue: number): string {
  return RUN_COLORS[hue % HUE_COUNT] ?? RUN_COLORS[0];
}

function mixChannels(first: readonly number[], second: readonly number[], share: number): number[] {
  return first.map((channel, index) => share * channel + (1 - share) * (second[index] ?? 0));
}

/** Assumes a little-endian machine, as all browsers run on. */
function packPixel([red = 0, green = 0, blue = 0]: readonly number[]): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The matches of a search: all events of some names, and single events. */
export interface EventHighlight {
  /** 1 for names that match. */
  readonly names: Uint8Array;
  /** A bit per event. */
  readonly events: Uint8Array;
}

export function makeHighlight(ids: Int32Array, events: Uint8Array): EventHighlight {
  const names = new Uint8Array(ids.reduce((max, id) => Math.max(max, id), 0) + 1);
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

/** A bar that is wide enough for a label, in pixels of the canvas. */
export interface LabelSlot {
  readonly name: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly height: number;
}

export interface LaneStyle {
  readonly palette: BarPalette;
  readonly span: TimeSpan;
  /** Null without a search. */
  readonly highlight: EventHighlight | null;
  /** The hue of all bars; null: by name. */
  readonly hue: number | null;
  readonly minLabelPx: number;
}

/**
 * Draws bars into an image. A lane is drawn into one line of pixels that is then copied down, so
 * that the time of a frame depends on the number of pixels and entries only, without a GPU.
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

  fill(color: number, top = 0, bottom = this.height): void {
    this.#pixels.fill(color, this.width * Math.max(0, top), this.width * Math.max(0, bottom));
  }

  fillRect(left: number, right: number, color: number, top: number, bottom: number): void {
    const [from, to] = [Math.max(0, left), Math.min(this.width, right)];
    if (from >= to) return;
    for (let y = Math.max(0, top); y < bottom; y++)
      this.#pixels.fill(color, y * this.width + from, y * this.width + to);
  }

  /** Draw a lane below `clip`; bars that are wide enough for a label are added to `slots`. */
  drawLane(
    tiles: readonly TrackTile[],
    lane: number,
    [top, bottom]: readonly [number, number],
    clip: number,
    style: LaneStyle,
    slots: LabelSlot[],
  ): void {
    const [first, last] = [Math.max(top, clip, 0), Math.min(bottom, this.height)];
    if (first >= last) return;
    const { width } = this;
    const from = first * width;
    const line = this.#pixels.subarray(from, from + width);
    const firstSlot = slots.length;
    let drawnTo = 0;
    for (const tile of tiles)
      drawnTo = drawLine(line, tile, lane, drawnTo, style, slots, top, bottom);
    if (drawnTo === 0) return;
    for (let y = first + 1; y < last; y++) this.#pixels.copyWithin(y * width, from, from + width);
    this.#roundCorners(slots, firstSlot, first, last, style.palette.background);
  }

  #roundCorners(
    slots: readonly LabelSlot[],
    firstSlot: number,
    first: number,
    last: number,
    background: number,
  ): void {
    for (const { left, right, top, height } of slots.slice(firstSlot)) {
      for (const y of [top, top + height - 1]) {
        if (y < first || y >= last) continue;
        this.#pixels[y * this.width + left] = background;
        this.#pixels[y * this.width + right - 1] = background;
      }
    }
  }
}

/** Draw the entries of a lane into a line of pixels; returns the end of the last bar. */
function drawLine(
  line: Uint32Array,
  tile: TrackTile,
  lane: number,
  drawnFrom: number,
  style: LaneStyle,
  slots: LabelSlot[],
  top: number,
  bottom: number,
): number {
  if (lane + 1 >= tile.lanes.length) return drawnFrom;
  const { start, duration, event, count, name, hue, busy } = tile;
  const { span, highlight, palette, minLabelPx } = style;
  const scale = line.length / (span.end - span.start);
  const to = tile.lanes[lane + 1] ?? 0;
  let drawnTo = drawnFrom;
  const from = findFirstEndingAfter(tile, tile.lanes[lane] ?? 0, to, span.start);
  for (let index = from; index < to; index++) {
    const startPs = start[index] as number;
    if (startPs >= span.end) break;
    let left = Math.floor((startPs - span.start) * scale);
    let right = Math.floor((startPs + (duration[index] as number) - span.start) * scale);
    if (right - left >= 4) right -= 1;
    else if (right <= left) right = left + 1;
    if (right <= drawnTo) continue;
    if (left < drawnTo) left = drawnTo;
    if (right > line.length) right = line.length;
    const isEvent = count[index] === 1;
    const isMatch =
      highlight === null || isHighlighted(highlight, name[index] as number, event[index] as number);
    const colors = isMatch ? palette.bars : palette.dimmedBars;
    const step = isEvent ? BUSY_STEPS - 1 : (busy[index] as number) >> 5;
    const color =
      colors[((style.hue ?? (hue[index] as number)) % HUE_COUNT) * BUSY_STEPS + step] ?? 0;
    if (right - left === 1) line[left] = color;
    else line.fill(color, left, right);
    drawnTo = right;
    if (isEvent && right - left >= minLabelPx)
      slots.push({ name: name[index] as number, left, right, top, height: bottom - top });
  }
  return drawnTo;
}
