import type { TrackRow } from '../../schemas';

/** The height of a lane that has room for words, with the gap below it. */
export const LANE_HEIGHT_PX = 18;
const COLLAPSED_HEIGHT_PX = 20;
const TRACK_PADDING_PX = 3;
const MIN_LANE_PX = 2;
/** A thread with this many lanes or fewer is open from the start, if it is one to look at first. */
const MAX_EXPANDED_LANES = 40;

/** A track where it lies; `top` counts from the top of its part of the stage. */
export interface TrackBand {
  readonly track: TrackRow;
  readonly isExpanded: boolean;
  readonly isPinned: boolean;
  readonly top: number;
  readonly height: number;
  /** The height of a lane, and how many of them are seen. */
  readonly laneHeight: number;
  readonly laneCount: number;
}

export interface TrackLayout {
  /** They stay at the top while the others are scrolled. */
  readonly pinned: readonly TrackBand[];
  readonly pinnedHeight: number;
  readonly unpinned: readonly TrackBand[];
  readonly unpinnedHeight: number;
}

export interface TrackChoices {
  /** Tracks that are open though they would not be, or the other way round. */
  readonly toggled: readonly number[];
  readonly pinned: readonly number[];
  readonly hidden: readonly number[];
}

export function layoutTracks(tracks: readonly TrackRow[], choices: TrackChoices): TrackLayout {
  const shown = tracks.filter(({ id }) => !choices.hidden.includes(id));
  const pinned = stackTracks(
    shown.filter(({ id }) => choices.pinned.includes(id)),
    choices,
    true,
  );
  const rest = stackTracks(
    shown.filter(({ id }) => !choices.pinned.includes(id)),
    choices,
    false,
  );
  return {
    pinned,
    pinnedHeight: getTotalHeight(pinned),
    unpinned: rest,
    unpinnedHeight: getTotalHeight(rest),
  };
}

/** Whether a track is open as long as nobody said anything. */
export function isExpandedByDefault({ is_main, is_device, lanes }: TrackRow): boolean {
  return lanes <= 2 || ((is_main || is_device) && lanes <= MAX_EXPANDED_LANES);
}

/** The band at a height of its part of the stage. */
export function findBandAt(bands: readonly TrackBand[], y: number): TrackBand | undefined {
  return bands.find(({ top, height }) => y >= top && y < top + height);
}

/** Which lane of a band is at a height; null: between them. */
export function findLaneAt({ top, laneHeight, laneCount }: TrackBand, y: number): number | null {
  const at = Math.floor((y - top - TRACK_PADDING_PX) / laneHeight);
  return at >= 0 && at < laneCount ? at : null;
}

/** Where a lane begins. */
export function getLaneTop(band: TrackBand, lane: number): number {
  return band.top + TRACK_PADDING_PX + Math.min(lane, band.laneCount - 1) * band.laneHeight;
}

function stackTracks(
  tracks: readonly TrackRow[],
  { toggled }: TrackChoices,
  isPinned: boolean,
): TrackBand[] {
  let top = 0;
  return tracks.map((track) => {
    const isExpanded = isExpandedByDefault(track) !== toggled.includes(track.id);
    const band = { track, isExpanded, isPinned, top, ...measureTrack(track, isExpanded) };
    top += band.height;
    return band;
  });
}

function measureTrack(
  { lanes }: TrackRow,
  isExpanded: boolean,
): Pick<TrackBand, 'height' | 'laneHeight' | 'laneCount'> {
  if (isExpanded)
    return {
      laneHeight: LANE_HEIGHT_PX,
      laneCount: lanes,
      height: Math.max(lanes * LANE_HEIGHT_PX, COLLAPSED_HEIGHT_PX) + 2 * TRACK_PADDING_PX,
    };
  const lane = Math.max(MIN_LANE_PX, Math.floor(COLLAPSED_HEIGHT_PX / lanes));
  return {
    laneHeight: lane,
    laneCount: Math.min(lanes, Math.floor(COLLAPSED_HEIGHT_PX / lane)),
    height: COLLAPSED_HEIGHT_PX + 2 * TRACK_PADDING_PX,
  };
}

function getTotalHeight(bands: readonly TrackBand[]): number {
  const last = bands.at(-1);
  return last ? last.top + last.height : 0;
}
