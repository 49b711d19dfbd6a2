import type { EventBox } from '../../../api/schemas';
import type { Codec } from '../../../lib/codecs';
import {
  findLanesBetween,
  type TimeSpan,
  type TrackBand,
  type TrackLayout,
} from './timeline/timeline-layout';

/** Selected events: all in some rectangles, except those that are also listed, and the others. */
export interface EventSelection {
  readonly events: readonly number[];
  readonly boxes: readonly EventBox[];
}

export const EMPTY_SELECTION: EventSelection = { events: [], boxes: [] };

const PS_PER_US = 1e6;
const PS_PER_NS = 1e3;

export const isEmptySelection = ({ events, boxes }: EventSelection): boolean =>
  events.length + boxes.length === 0;

/** In URLs, `12.15~1.5_2_0_1_3`: events, then rectangles with their times in microseconds. */
export const selectionCodec: Codec<EventSelection> = {
  parse(text) {
    const [events = '', ...boxes] = text.split('~');
    const numbers = events === '' ? [] : events.split('.').map(Number);
    return { events: numbers.filter(isIndex), boxes: boxes.flatMap(parseBox) };
  },
  format: ({ events, boxes }) => [events.join('.'), ...boxes.map(formatBox)].join('~'),
};

const isIndex = (value: number | undefined): value is number =>
  Number.isSafeInteger(value) && value !== undefined && value >= 0;

function parseBox(text: string): EventBox[] {
  const [start = NaN, end = NaN, track, first_lane, last_lane] = text.split('_').map(Number);
  const isValid = Number.isFinite(start) && Number.isFinite(end);
  if (!isValid || !isIndex(track) || !isIndex(first_lane) || !isIndex(last_lane)) return [];
  return [{ start: start * PS_PER_US, end: end * PS_PER_US, track, first_lane, last_lane }];
}

function formatBox({ start, end, track, first_lane, last_lane }: EventBox): string {
  const times = [start, end].map((ps) => Math.round(ps / PS_PER_NS) / 1000);
  return [...times, track, first_lane, last_lane].join('_');
}

/** Add an event, or remove it if it is selected. */
export function toggleEvent({ events, boxes }: EventSelection, event: number): EventSelection {
  const isListed = events.includes(event);
  return { events: isListed ? events.filter((id) => id !== event) : [...events, event], boxes };
}

/** Add rectangles; if all of them are selected already, remove them. */
export function toggleBoxes(
  { events, boxes }: EventSelection,
  added: readonly EventBox[],
): EventSelection {
  const keys = boxes.map(formatBox);
  const addedKeys = added.map(formatBox);
  if (addedKeys.every((key) => keys.includes(key)))
    return { events, boxes: boxes.filter((_, index) => !addedKeys.includes(keys[index] ?? '')) };
  return { events, boxes: [...boxes, ...added.filter((box) => !keys.includes(formatBox(box)))] };
}

/** Return the rectangles of a time span between two heights, one for each track. */
export function listBoxes(
  { pinned, unpinned, pinnedHeight }: TrackLayout,
  scroll: number,
  { start, end }: TimeSpan,
  from: number,
  to: number,
): EventBox[] {
  const [top, bottom] = [Math.min(from, to), Math.max(from, to)];
  const collect = (bands: readonly TrackBand[], first: number, last: number): EventBox[] =>
    bands.flatMap((band) => {
      const lanes = first < last ? findLanesBetween(band, first, last) : null;
      if (!lanes) return [];
      return [{ start, end, track: band.track.id, first_lane: lanes[0], last_lane: lanes[1] }];
    });
  const shift = pinnedHeight - scroll;
  return [
    ...collect(pinned, top, Math.min(bottom, pinnedHeight)),
    // Other tracks scroll below the pinned ones.
    ...collect(unpinned, Math.max(top, pinnedHeight) - shift, bottom - shift),
  ];
}
