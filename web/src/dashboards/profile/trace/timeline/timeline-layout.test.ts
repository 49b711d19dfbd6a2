import { describe, expect, it } from 'vitest';

import type { TrackRow } from '../../../../api/schemas';
import {
  addMargin,
  clampSpan,
  findBandAt,
  findDropIndex,
  findLaneAt,
  formatDurationPs,
  formatExactPs,
  getLaneTop,
  getSpanLength,
  LANE_HEIGHT_PX,
  layoutSteps,
  layoutTracks,
  looksEqual,
  makeTimeTicks,
  moveId,
  padSpan,
  trimOrder,
  zoomSpan,
} from './timeline-layout';

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
    expect([0, 5, 1234, 7_444_000, 49_216_000_000, 2.705e12, -3e9].map(formatDurationPs)).toEqual([
      '0',
      '5 ps',
      '1.234 ns',
      '7.444 µs',
      '49.22 ms',
      '2.705 s',
      '−3 ms',
    ]);
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
