import { beforeAll, describe, expect, it } from 'vitest';

import {
  BarRaster,
  BUSY_STEPS,
  isHighlighted,
  type LabelSlot,
  type LaneStyle,
  makeBarPalette,
  makeHighlight,
} from './bar-renderer';
import type { TrackTile } from './tile-cache';

const PALETTE = makeBarPalette('#ffffff', '#d5d5dd', false);
const makeTile = (events: readonly (readonly [number, number])[], count = 1): TrackTile => ({
  lanes: Int32Array.of(0, events.length),
  start: Float64Array.from(events, ([start]) => start),
  duration: Float64Array.from(events, ([, duration]) => duration),
  event: Int32Array.from(events.keys()),
  count: new Int32Array(events.length).fill(count),
  name: Int32Array.from(events.keys()),
  hue: new Uint8Array(events.length),
  busy: new Uint8Array(events.length).fill(255),
});
const STYLE: LaneStyle = {
  palette: PALETTE,
  span: { start: 0, end: 100 },
  highlight: null,
  hue: null,
  minLabelPx: 20,
};
const BAR = PALETTE.bars[BUSY_STEPS - 1];

beforeAll(() => {
  globalThis.ImageData ??= class {
    readonly data: Uint8ClampedArray;
    constructor(
      readonly width: number,
      readonly height: number,
    ) {
      this.data = new Uint8ClampedArray(width * height * 4);
    }
  } as unknown as typeof ImageData;
});

function draw(
  tiles: TrackTile[],
  style: Partial<LaneStyle> = {},
): { lines: number[][]; slots: LabelSlot[] } {
  const bars = new BarRaster(100, 6);
  bars.fill(PALETTE.background);
  const slots: LabelSlot[] = [];
  bars.drawLane(tiles, 0, [1, 5], 0, { ...STYLE, ...style }, slots);
  const pixels = new Uint32Array(bars.image.data.buffer);
  return {
    lines: Array.from({ length: 6 }, (_, y) => [...pixels.subarray(100 * y, 100 * y + 100)]),
    slots,
  };
}

describe('bars', () => {
  it('fill their time in all lines of the lane, with a gap before the next', () => {
    const { lines } = draw([
      makeTile([
        [10, 10],
        [20, 5],
      ]),
    ]);
    const line = lines[2] ?? [];
    expect(line.slice(10, 19)).toEqual(Array<number | undefined>(9).fill(BAR));
    expect(line[19]).toBe(PALETTE.background);
    expect(line[20]).toBe(BAR);
    expect(lines[0]).toEqual(Array(100).fill(PALETTE.background));
    expect(lines[5]).toEqual(Array(100).fill(PALETTE.background));
    expect(lines[4]).toEqual(line);
  });

  it('are at least a pixel wide and never overlap', () => {
    const { lines } = draw([
      makeTile([
        [10, 0],
        [10.2, 0.1],
        [10.4, 0.1],
        [50, 0.001],
      ]),
    ]);
    const drawn = lines[1]?.flatMap((pixel, x) => (pixel === PALETTE.background ? [] : [x]));
    expect(drawn).toEqual([10, 50]);
  });

  it('have labels and round corners if they are wide', () => {
    const { lines, slots } = draw([
      makeTile([
        [10, 30],
        [60, 10],
      ]),
    ]);
    expect(slots).toEqual([{ name: 0, left: 10, right: 39, top: 1, height: 4 }]);
    expect(lines[1]?.[10]).toBe(PALETTE.background);
    expect(lines[2]?.[10]).toBe(BAR);
  });

  it('are pale if they do not match, or if merged events are not busy', () => {
    const pale = draw(
      [
        makeTile([
          [0, 5],
          [50, 5],
        ]),
      ],
      { highlight: makeHighlight(Int32Array.of(1), new Uint8Array(0)) },
    ).lines[2];
    expect([pale?.[0], pale?.[50]]).toEqual([PALETTE.dimmedBars[BUSY_STEPS - 1], BAR]);
    const idle = { ...makeTile([[0, 5]], 9), busy: Uint8Array.of(10) };
    expect(draw([idle]).lines[2]?.[0]).toBe(PALETTE.bars[0]);
  });
});

it('highlights events by name', () => {
  const highlight = makeHighlight(Int32Array.of(2), new Uint8Array(0));
  expect([0, 1, 2, 3].map((name) => isHighlighted(highlight, name, 0))).toEqual([
    false,
    false,
    true,
    false,
  ]);
});

it('highlights single events', () => {
  const highlight = makeHighlight(new Int32Array(0), Uint8Array.of(0b00000100, 0b00000001));
  const highlighted = Array.from({ length: 20 }, (_, event) => event).filter((at) =>
    isHighlighted(highlight, 0, at),
  );
  expect(highlighted).toEqual([2, 8]);
});
