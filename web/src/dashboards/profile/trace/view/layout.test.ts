import { describe, expect, it } from 'vitest';

import type { TrackRow } from '../data/answers';
import { bandAt, LANE, laneAt, layOut, topOf } from './layout';

const track = (id: number, lanes: number, more: Partial<TrackRow> = {}): TrackRow => ({
  ...{ id, lanes, process: 'host', name: `thread ${id}`, events: 1, busy_ps: 1 },
  ...{ is_device: false, is_main: false },
  ...more,
});

const TRACKS = [track(7, 5, { is_main: true }), track(1, 3, { is_device: true }), track(2, 12)];
const NOBODY = { turned: [], pinned: [], hidden: [] };

describe('tracks below each other', () => {
  it('are open where one looks first, and low where not', () => {
    const { rest, restHeight } = layOut(TRACKS, NOBODY);
    expect(rest.map(({ isOpen }) => isOpen)).toEqual([true, true, false]);
    expect(rest[0]?.height).toBe(5 * LANE + 6);
    expect(rest[2]?.lane).toBeLessThan(LANE);
    expect(restHeight).toBe(rest.reduce((sum, { height }) => sum + height, 0));
  });

  it('can be opened, pinned and hidden', () => {
    const { pinned, rest } = layOut(TRACKS, { turned: [2], pinned: [1], hidden: [7] });
    expect(pinned.map(({ track }) => track.id)).toEqual([1]);
    expect(rest.map(({ track, isOpen }) => [track.id, isOpen])).toEqual([[2, true]]);
    expect(rest[0]?.top).toBe(0);
  });

  it('are found by their height, and lanes in them', () => {
    const { rest } = layOut(TRACKS, NOBODY);
    const [first, second] = rest;
    expect(bandAt(rest, (second?.top ?? 0) + 1)).toBe(second);
    expect(bandAt(rest, 1e6)).toBeUndefined();
    if (!first) throw new Error('there is a first one');
    expect(laneAt(first, topOf(first, 3) + 2)).toBe(3);
    expect(laneAt(first, first.top)).toBeNull();
  });
});
