import type { TrackRow } from '../data/answers';

/** The height of a lane that has room for words, with the gap below it. */
export const LANE = 18;
const FOLDED = 20;
const ROOM = 3;
const THINNEST = 2;
/** A thread with this many lanes or fewer is open from the start, if it is one to look at first. */
const MANY_LANES = 40;

/** A track where it lies; `top` counts from the top of its part of the stage. */
export interface Band {
  readonly track: TrackRow;
  readonly isOpen: boolean;
  readonly isPinned: boolean;
  readonly top: number;
  readonly height: number;
  /** The height of a lane, and how many of them are seen. */
  readonly lane: number;
  readonly lanes: number;
}

export interface Layout {
  /** They stay at the top while the others are scrolled. */
  readonly pinned: readonly Band[];
  readonly pinnedHeight: number;
  readonly rest: readonly Band[];
  readonly restHeight: number;
}

export interface Choices {
  /** Tracks that are open though they would not be, or the other way round. */
  readonly turned: readonly number[];
  readonly pinned: readonly number[];
  readonly hidden: readonly number[];
}

export function layOut(tracks: readonly TrackRow[], choices: Choices): Layout {
  const shown = tracks.filter(({ id }) => !choices.hidden.includes(id));
  const pinned = stack(
    shown.filter(({ id }) => choices.pinned.includes(id)),
    choices,
    true,
  );
  const rest = stack(
    shown.filter(({ id }) => !choices.pinned.includes(id)),
    choices,
    false,
  );
  return {
    pinned,
    pinnedHeight: heightOf(pinned),
    rest,
    restHeight: heightOf(rest),
  };
}

/** Whether a track is open as long as nobody said anything. */
export function opensByItself({ is_main, is_device, lanes }: TrackRow): boolean {
  return lanes <= 2 || ((is_main || is_device) && lanes <= MANY_LANES);
}

/** The band at a height of its part of the stage. */
export function bandAt(bands: readonly Band[], y: number): Band | undefined {
  return bands.find(({ top, height }) => y >= top && y < top + height);
}

/** Which lane of a band is at a height; null: between them. */
export function laneAt({ top, lane, lanes }: Band, y: number): number | null {
  const at = Math.floor((y - top - ROOM) / lane);
  return at >= 0 && at < lanes ? at : null;
}

/** Where a lane begins. */
export function topOf(band: Band, lane: number): number {
  return band.top + ROOM + Math.min(lane, band.lanes - 1) * band.lane;
}

function stack(tracks: readonly TrackRow[], { turned }: Choices, isPinned: boolean): Band[] {
  let top = 0;
  return tracks.map((track) => {
    const isOpen = opensByItself(track) !== turned.includes(track.id);
    const band = { track, isOpen, isPinned, top, ...measure(track, isOpen) };
    top += band.height;
    return band;
  });
}

function measure({ lanes }: TrackRow, isOpen: boolean): Pick<Band, 'height' | 'lane' | 'lanes'> {
  if (isOpen) return { lane: LANE, lanes, height: Math.max(lanes * LANE, FOLDED) + 2 * ROOM };
  const lane = Math.max(THINNEST, Math.floor(FOLDED / lanes));
  return { lane, lanes: Math.min(lanes, Math.floor(FOLDED / lane)), height: FOLDED + 2 * ROOM };
}

function heightOf(bands: readonly Band[]): number {
  const last = bands.at(-1);
  return last ? last.top + last.height : 0;
}
