import { beforeAll, describe, expect, it } from 'vitest';

import { NetworkError } from '../../../api/errors';
import { settle } from '../../../api/query-test-tools';
import type { Tiles, TrackRow } from '../../../api/schemas';
import {
  BarRaster,
  BUSY_STEPS,
  isHighlighted,
  type LabelSlot,
  type LaneStyle,
  makeBarPalette,
  makeHighlight,
} from './timeline/bar-renderer';
import {
  EMPTY_SELECTION,
  isEmptySelection,
  listBoxes,
  selectionCodec,
  toggleBoxes,
  toggleEvent,
  addMargin,
  clampSpan,
  findBandAt,
  findDropIndex,
  findLaneAt,
  formatDurationPs,
  formatExactPs,
  getCounterValue,
  getLaneTop,
  getSpanLength,
  LANE_HEIGHT_PX,
  layoutSteps,
  layoutTracks,
  looksEqual,
  makeCounterPath,
  makeTimeTicks,
  moveId,
  padSpan,
  trimOrder,
  zoomSpan,
} from './timeline/timeline-layout';
import {
  findFirstEndingAfter,
  getTileLevel,
  getTileNumbers,
  TileCache,
  type TileObserver,
  type TileRequest,
  type TilesState,
  type TrackTile,
} from './timeline/tile-cache';

describe('timeline layout', () => {
  const BOUNDS = { start: 0, end: 1e9 };

  describe('a time span', () => {
    it('is zoomed around a fixed time', () => {
      const zoomed = zoomSpan({ start: 100, end: 300 }, 0.5, 150);
      expect(zoomed).toEqual({ start: 125, end: 225 });
      expect((150 - zoomed.start) / getSpanLength(zoomed)).toBe((150 - 100) / 200);
    });

    it('is limited to the trace and to a minimum length', () => {
      expect(clampSpan({ start: -5e8, end: 5e8 }, BOUNDS)).toEqual(BOUNDS);
      expect(clampSpan({ start: 2e9, end: 2.1e9 }, BOUNDS)).toEqual({ start: 9e8, end: 1e9 });
      expect(getSpanLength(clampSpan({ start: 7, end: 7 }, BOUNDS))).toBe(500);
      expect(clampSpan({ start: -1e12, end: 1e12 }, BOUNDS)).toEqual(BOUNDS);
    });

    it('has margins around traces and events, even those without a duration', () => {
      expect(addMargin(BOUNDS)).toEqual({ start: -2e7, end: 1.02e9 });
      expect(getSpanLength(padSpan({ start: 5e8, end: 5e8 }))).toBe(4e6);
      expect(padSpan({ start: 1e8, end: 2e8 })).toEqual({ start: 0, end: 3e8 });
    });

    it('equals another that differs by less than a pixel', () => {
      expect(looksEqual(BOUNDS, { start: 1e5, end: 1e9 })).toBe(true);
      expect(looksEqual(BOUNDS, { start: 1e6, end: 1e9 })).toBe(false);
    });
  });

  describe('formatted times', () => {
    it('have four digits and a suitable unit', () => {
      expect([0, 5, 1234, 7_444_000, 49_216_000_000, 2.705e12, -3e9].map(formatDurationPs)).toEqual(
        ['0', '5 ps', '1.234 ns', '7.444 µs', '49.22 ms', '2.705 s', '−3 ms'],
      );
    });

    it('can have all digits', () => {
      expect(formatExactPs(49_216_000_123)).toBe('49.216000123 ms');
    });

    it('of an axis share a unit and have enough digits to differ', () => {
      const texts = (start: number, end: number): string[] =>
        makeTimeTicks({ start, end }, 5).map(({ text }) => text);
      expect(texts(0, 6e11)).toEqual([
        '0 ms',
        '100 ms',
        '200 ms',
        '300 ms',
        '400 ms',
        '500 ms',
        '600 ms',
      ]);
      expect(texts(1.4e12, 1.4e12 + 4e6)).toContain('1400.001 ms');
    });
  });

  const STEPS = {
    rule: { code: '', text: '', args: {} },
    names: ['train 7', 'train 8', 'train 9'],
    start_ps: Float64Array.of(0, 500, 900),
    end_ps: Float64Array.of(500, 900, 1000),
  };

  it('labels steps with as much as fits', () => {
    const boxes = layoutSteps(STEPS, { start: 0, end: 1000 }, 170);
    expect(boxes.map(({ left, width, text }) => [left, width, text])).toEqual([
      [0, 85, 'train 7'],
      [85, 68, '8'],
      [153, 17, ''],
    ]);
  });

  it('leaves out narrow and invisible steps, and clips the others', () => {
    const boxes = layoutSteps(STEPS, { start: 400, end: 920 }, 520);
    expect(boxes.map(({ name, left, width }) => [name, left, width])).toEqual([
      ['train 7', 0, 100],
      ['train 8', 100, 400],
      ['train 9', 500, 20],
    ]);
    expect(layoutSteps(STEPS, { start: 600, end: 700 }, 13)).toEqual([]);
  });

  const track = (id: number, lanes: number, more: Partial<TrackRow> = {}): TrackRow => ({
    ...{ id, lanes, process: 'host', name: `thread ${id}`, events: 1, busy_ps: 1 },
    ...{ is_device: false, is_main: false },
    ...more,
  });

  const TRACKS = [track(7, 5, { is_main: true }), track(1, 3, { is_device: true }), track(2, 12)];
  const DEFAULTS = { toggled: [], pinned: [], hidden: [], order: [] };

  describe('the layout of tracks', () => {
    it('expands the main thread and devices by default', () => {
      const { unpinned, unpinnedHeight } = layoutTracks(TRACKS, DEFAULTS);
      expect(unpinned.map(({ isExpanded }) => isExpanded)).toEqual([true, true, false]);
      expect(unpinned[0]?.height).toBe(5 * LANE_HEIGHT_PX + 6);
      expect(unpinned[2]?.laneHeight).toBeLessThan(LANE_HEIGHT_PX);
      expect(unpinnedHeight).toBe(unpinned.reduce((sum, { height }) => sum + height, 0));
    });

    it('expands, pins and hides tracks', () => {
      const choices = { toggled: [2], pinned: [1], hidden: [7], order: [] };
      const { pinned, unpinned } = layoutTracks(TRACKS, choices);
      expect(pinned.map(({ track }) => track.id)).toEqual([1]);
      expect(unpinned.map(({ track, isExpanded }) => [track.id, isExpanded])).toEqual([[2, true]]);
      expect(unpinned[0]?.top).toBe(0);
    });

    it('puts the tracks of an order first', () => {
      const listIds = (order: number[], pinned: number[] = []): number[] =>
        layoutTracks(TRACKS, { ...DEFAULTS, order, pinned }).unpinned.map(({ track }) => track.id);
      expect(listIds([2])).toEqual([2, 7, 1]);
      // Tracks that are pinned, or of another capture, are left out.
      expect(listIds([99, 1, 2], [1])).toEqual([2, 7]);
    });

    it('moves a track to where it is dropped', () => {
      const { unpinned } = layoutTracks(TRACKS, DEFAULTS);
      const [first, second] = unpinned;
      if (!first || !second) throw new Error('there is no track');
      expect(findDropIndex(unpinned, -5)).toBe(0);
      expect(findDropIndex(unpinned, second.top + second.height / 2 + 1)).toBe(2);
      expect(findDropIndex(unpinned, 1e6)).toBe(3);
      expect(moveId([7, 1, 2], 7, 2)).toEqual([1, 7, 2]);
      expect(moveId([7, 1, 2], 7, 3)).toEqual([1, 2, 7]);
      expect(moveId([7, 1, 2], 2, 0)).toEqual([2, 7, 1]);
      expect(moveId([7, 1, 2], 1, 1)).toEqual([7, 1, 2]);
    });

    it('keeps only the changed part of an order', () => {
      expect(trimOrder([7, 1, 2], [7, 1, 2])).toEqual([]);
      expect(trimOrder([2, 7, 1], [7, 1, 2])).toEqual([2]);
      expect(trimOrder([1, 7, 2], [7, 1, 2])).toEqual([1]);
      expect(trimOrder([7, 2, 1], [7, 1, 2])).toEqual([7, 2]);
      expect(trimOrder([], [7])).toEqual([]);
    });

    it('finds tracks and lanes by their position', () => {
      const { unpinned } = layoutTracks(TRACKS, DEFAULTS);
      const [first, second] = unpinned;
      expect(findBandAt(unpinned, (second?.top ?? 0) + 1)).toBe(second);
      expect(findBandAt(unpinned, 1e6)).toBeUndefined();
      if (!first) throw new Error('there is no track');
      expect(findLaneAt(first, getLaneTop(first, 3) + 2)).toBe(3);
      expect(findLaneAt(first, first.top)).toBeNull();
    });
  });
});

describe('counter path', () => {
  const COUNTER = {
    times: Float64Array.of(0, 50, 80),
    values: Float64Array.of(2, 4, 0),
    peak: 4,
    low: 0,
  };

  it('draws a step at each change', () => {
    expect(makeCounterPath(COUNTER, { start: 0, end: 100 }, 200, 23)).toBe(
      'M0.0 23.0V13.0H100.0V3.0H160.0V23.0H200.0V23.0Z',
    );
  });

  it('draws negative values below 0', () => {
    const signed = { ...COUNTER, values: Float64Array.of(2, -4, 4), low: -4 };
    expect(makeCounterPath(signed, { start: 0, end: 100 }, 100, 43)).toBe(
      'M0.0 23.0V13.0H50.0V43.0H80.0V3.0H100.0V23.0Z',
    );
  });

  it('starts with the first value of a recorded counter', () => {
    const late = { ...COUNTER, times: Float64Array.of(50, 80), values: Float64Array.of(4, 0) };
    expect(makeCounterPath(late, { start: 0, end: 100 }, 100, 23)).toBe(
      'M50.0 23.0V3.0H80.0V23.0H100.0V23.0Z',
    );
  });

  it('draws nothing of a counter that is always 0', () => {
    const empty = { times: Float64Array.of(0), values: Float64Array.of(0), peak: 0, low: 0 };
    expect(makeCounterPath(empty, { start: 0, end: 100 }, 200, 23)).toBe('');
  });

  it('has the last value at or before a time', () => {
    expect([-1, 0, 49, 50, 90].map((time) => getCounterValue(COUNTER, time))).toEqual([
      null,
      2,
      2,
      4,
      0,
    ]);
  });
});

describe('tile cache', () => {
  /** Make tiles with one event in the second lane that fills the tile. */
  function makeTiles({ level, first, last, tracks }: TileRequest): Tiles {
    const size = 2 ** (level + 10);
    const count = (last - first + 1) * tracks.length;
    const each = <Value>(make: (index: number) => Value): Value[] =>
      Array.from({ length: count }, (_, index) => make(index));
    return {
      ends: Int32Array.from(each((index) => index + 1)),
      lane: new Uint8Array(count).fill(1),
      start: Float64Array.from(each((index) => (first + Math.floor(index / tracks.length)) * size)),
      duration: new Float64Array(count).fill(size),
      event: Int32Array.from(each((index) => index)),
      count: new Int32Array(count).fill(1),
      name: new Int32Array(count),
      hue: new Uint8Array(count),
      busy: new Uint8Array(count).fill(255),
      names: { ids: Int32Array.of(0), texts: ['conv'] },
    };
  }

  /** A query that responds to each request; `fail` makes it fail. */
  class FakeQuery {
    readonly requests: TileRequest[] = [];
    fails = false;

    observe = (listener: (state: TilesState) => void): TileObserver => {
      let current: TileRequest | null = null;
      const respond = (): void => {
        if (!current) return;
        const state = this.fails
          ? { status: 'error' as const, error: new NetworkError() }
          : { status: 'ready' as const, data: makeTiles(current) };
        void Promise.resolve().then(() => listener({ data: undefined, error: null, ...state }));
      };
      return {
        setRequest: (request) => {
          this.requests.push(request);
          current = request;
          respond();
        },
        retry: respond,
        dispose: () => (current = null),
      };
    };
  }

  function openCache(): { readonly query: FakeQuery; readonly cache: TileCache } {
    const query = new FakeQuery();
    return { query, cache: new TileCache(query.observe, () => undefined) };
  }

  describe('tiles', () => {
    it('are of the level whose cells are no wider than a pixel', () => {
      expect([0.1, 1, 1023, 1024, 1e30].map(getTileLevel)).toEqual([0, 0, 9, 10, 50]);
      expect(getTileNumbers(0, { start: -1, end: 1024 })).toEqual([-1, 1]);
    });

    it('are requested once, and only if they are missing', async () => {
      const { query, cache } = openCache();
      cache.setWanted([{ level: 4, first: 0, last: 1, tracks: [3] }]);
      await settle();
      cache.setWanted([{ level: 4, first: 0, last: 2, tracks: [3, 5] }]);
      await settle();
      cache.setWanted([{ level: 4, first: 0, last: 2, tracks: [3, 5] }]);
      await settle();
      expect(query.requests).toEqual([
        { level: 4, first: 0, last: 1, tracks: [3] },
        { level: 4, first: 0, last: 2, tracks: [5] },
        { level: 4, first: 2, last: 2, tracks: [3] },
      ]);
      expect(cache.isComplete).toBe(true);
      expect(cache.names.get(0)).toBe('conv');
    });

    it('are replaced by coarser ones until they arrive', async () => {
      const { cache } = openCache();
      cache.setWanted([{ level: 10, first: 0, last: 0, tracks: [1] }]);
      await settle();
      const [tile] = cache.getTiles(3, { start: 5, end: 5000 }, 1);
      if (!tile) throw new Error('the coarse tile is missing');
      expect([...tile.lanes]).toEqual([0, 0, 1]);
      expect(findFirstEndingAfter(tile, 0, 1, 2 ** 20 - 1)).toBe(0);
      expect(findFirstEndingAfter(tile, 0, 1, 2 ** 20)).toBe(1);
      expect(cache.getTiles(3, { start: 5, end: 5000 }, 2)).toEqual([]);
    });

    it('of a static export are used at every level', async () => {
      const { query, cache } = openCache();
      cache.fetchExported({ level: 6, first: 0, last: 1, tracks: [1] });
      cache.setWanted([{ level: 2, first: 0, last: 0, tracks: [1] }]);
      await settle();
      expect(cache.getTiles(2, { start: 0, end: 10 }, 1)).toHaveLength(1);
      expect(cache.getTiles(9, { start: 0, end: 1e5 }, 1)).toHaveLength(2);
      expect(cache.getTiles(9, { start: -1e5, end: 3e5 }, 1)).toHaveLength(2);
      expect(cache.isComplete).toBe(true);
      expect(query.requests).toHaveLength(1);
    });

    it('can be requested again after an error', async () => {
      const { query, cache } = openCache();
      query.fails = true;
      cache.setWanted([{ level: 0, first: 0, last: 0, tracks: [1] }]);
      await settle();
      expect(cache.error?.message).toBe('Server unreachable');
      expect(cache.getTiles(0, { start: 0, end: 10 }, 1)).toEqual([]);
      query.fails = false;
      cache.retry();
      await settle();
      expect(cache.error).toBeNull();
      expect(cache.getTiles(0, { start: 0, end: 10 }, 1)).toHaveLength(1);
    });
  });
});

describe('bar renderer', () => {
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
});

describe('event selection', () => {
  const BOX = { start: 1_500_000, end: 2_000_000, track: 3, first_lane: 0, last_lane: 2 };

  describe('a selection of events', () => {
    it('is kept in the URL', () => {
      const selection = { events: [12, 15], boxes: [BOX, { ...BOX, start: -1_000_000 }] };
      const text = selectionCodec.format(selection);
      expect(text).toBe('12.15~1.5_2_3_0_2~-1_2_3_0_2');
      expect(selectionCodec.parse(text)).toEqual(selection);
      expect(selectionCodec.parse(selectionCodec.format({ events: [], boxes: [BOX] }))).toEqual({
        events: [],
        boxes: [BOX],
      });
      expect(selectionCodec.format(EMPTY_SELECTION)).toBe('');
    });

    it('ignores what is no event or rectangle', () => {
      expect(selectionCodec.parse('a.-1.1.5.7~1_2_3~x_2_3_0_2~1_2_-3_0_2')).toEqual({
        events: [1, 5, 7],
        boxes: [],
      });
      expect(isEmptySelection(selectionCodec.parse(''))).toBe(true);
    });

    it('adds and removes events', () => {
      const one = toggleEvent(EMPTY_SELECTION, 4);
      const two = toggleEvent(one, 9);
      expect(two.events).toEqual([4, 9]);
      expect(toggleEvent(two, 4).events).toEqual([9]);
    });

    it('adds rectangles, and removes those that it has', () => {
      const other = { ...BOX, track: 4 };
      const one = toggleBoxes(EMPTY_SELECTION, [BOX]);
      expect(toggleBoxes(one, [BOX, other]).boxes).toEqual([BOX, other]);
      expect(toggleBoxes(one, [{ ...BOX }]).boxes).toEqual([]);
    });
  });

  const track = (id: number, lanes: number): TrackRow => ({
    ...{ id, lanes, process: 'host', name: `thread ${id}`, events: 1, busy_ps: 1 },
    ...{ is_device: true, is_main: false },
  });
  const SPAN = { start: 10, end: 20 };

  describe('the rectangles of a drag', () => {
    const choices = { toggled: [], pinned: [2], hidden: [], order: [] };
    const layout = layoutTracks([track(1, 5), track(2, 1), track(3, 4)], choices);
    const [first, second] = layout.unpinned;
    if (!first || !second) throw new Error('there are no tracks');

    it('have the lanes between both heights, in either direction', () => {
      const top = layout.pinnedHeight + getLaneTop(first, 2) + 1;
      const bottom = layout.pinnedHeight + getLaneTop(second, 1) + 1;
      const boxes = listBoxes(layout, 0, SPAN, top, bottom);
      expect(boxes).toEqual([
        { ...SPAN, track: 1, first_lane: 2, last_lane: 4 },
        { ...SPAN, track: 3, first_lane: 0, last_lane: 1 },
      ]);
      expect(listBoxes(layout, 0, SPAN, bottom, top)).toEqual(boxes);
    });

    it('leave out tracks that are scrolled below the pinned ones', () => {
      const boxes = listBoxes(layout, first.height, SPAN, 0, layout.pinnedHeight + 1);
      expect(boxes.map(({ track: id }) => id)).toEqual([2, 3]);
    });
  });
});
