import { describe, expect, it } from 'vitest';

import type { TrackRow } from '../../../api/schemas';
import {
  EMPTY_SELECTION,
  isEmptySelection,
  listBoxes,
  selectionCodec,
  toggleBoxes,
  toggleEvent,
} from './event-selection';
import { getLaneTop, layoutTracks } from './timeline/timeline-layout';

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
