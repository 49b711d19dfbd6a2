import { describe, expect, it } from 'vitest';

import type { TrackRow } from '../../schemas';
import { findBandAt, LANE_HEIGHT_PX, findLaneAt, layoutTracks, getLaneTop } from './track-layout';

const track = (id: number, lanes: number, more: Partial<TrackRow> = {}): TrackRow => ({
  ...{ id, lanes, process: 'host', name: `thread ${id}`, events: 1, busy_ps: 1 },
  ...{ is_device: false, is_main: false },
  ...more,
});

const TRACKS = [track(7, 5, { is_main: true }), track(1, 3, { is_device: true }), track(2, 12)];
const NOBODY = { toggled: [], pinned: [], hidden: [] };

describe('tracks below each other', () => {
  it('are open where one looks first, and low where not', () => {
    const { unpinned, unpinnedHeight } = layoutTracks(TRACKS, NOBODY);
    expect(unpinned.map(({ isExpanded }) => isExpanded)).toEqual([true, true, false]);
    expect(unpinned[0]?.height).toBe(5 * LANE_HEIGHT_PX + 6);
    expect(unpinned[2]?.laneHeight).toBeLessThan(LANE_HEIGHT_PX);
    expect(unpinnedHeight).toBe(unpinned.reduce((sum, { height }) => sum + height, 0));
  });

  it('can be opened, pinned and hidden', () => {
    const { pinned, unpinned } = layoutTracks(TRACKS, { toggled: [2], pinned: [1], hidden: [7] });
    expect(pinned.map(({ track }) => track.id)).toEqual([1]);
    expect(unpinned.map(({ track, isExpanded }) => [track.id, isExpanded])).toEqual([[2, true]]);
    expect(unpinned[0]?.top).toBe(0);
  });

  it('are found by their height, and lanes in them', () => {
    const { unpinned } = layoutTracks(TRACKS, NOBODY);
    const [first, second] = unpinned;
    expect(findBandAt(unpinned, (second?.top ?? 0) + 1)).toBe(second);
    expect(findBandAt(unpinned, 1e6)).toBeUndefined();
    if (!first) throw new Error('there is a first one');
    expect(findLaneAt(first, getLaneTop(first, 3) + 2)).toBe(3);
    expect(findLaneAt(first, first.top)).toBeNull();
  });
});
