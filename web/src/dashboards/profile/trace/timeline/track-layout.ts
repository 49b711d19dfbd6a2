import type { TrackRow } from '../../../../api/schemas';

/** The height of a lane with labels, including the gap below it. */
export const LANE_HEIGHT_PX = 18;
const COLLAPSED_HEIGHT_PX = 20;
const TRACK_PADDING_PX = 3;
const MIN_LANE_PX = 2;
/** The main thread and devices with more lanes are collapsed by default. */
const MAX_EXPANDED_LANES = 40;

/** A track with its position; `top` is relative to the pinned or the other tracks. */
export interface TrackBand {
  readonly track: TrackRow;
  readonly isExpanded: boolean;
  readonly isPinned: boolean;
  readonly top: number;
  readonly height: number;
  readonly laneHeight: number;
  /** Number of visible lanes. */
  readonly laneCount: number;
}

export interface TrackLayout {
  readonly pinned: readonly TrackBand[];
  readonly pinnedHeight: number;
  readonly unpinned: readonly TrackBand[];
  readonly unpinnedHeight: number;
}

export interface TrackChoices {
  /** Tracks that are expanded or collapsed, unlike the default. */
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
  const unpinned = stackTracks(
    shown.filter(({ id }) => !choices.pinned.includes(id)),
    choices,
    false,
  );
  return {
    pinned,
    pinnedHeight: getTotalHeight(pinned),
    unpinned,
    unpinnedHeight: getTotalHeight(unpinned),
  };
}

export function isExpandedByDefault({ is_main, is_device, lanes }: TrackRow): boolean {
  return lanes <= 2 || ((is_main || is_device) && lanes <= MAX_EXPANDED_LANES);
}

export function findBandAt(bands: readonly TrackBand[], y: number): TrackBand | undefined {
  return bands.find(({ top, height }) => y >= top && y < top + height);
}

/** Return the lane at a height; null between lanes. */
export function findLaneAt({ top, laneHeight, laneCount }: TrackBand, y: number): number | null {
  const lane = Math.floor((y - top - TRACK_PADDING_PX) / laneHeight);
  return lane >= 0 && lane < laneCount ? lane : null;
}

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
  const laneHeight = Math.max(MIN_LANE_PX, Math.floor(COLLAPSED_HEIGHT_PX / lanes));
  return {
    laneHeight,
    laneCount: Math.min(lanes, Math.floor(COLLAPSED_HEIGHT_PX / laneHeight)),
    height: COLLAPSED_HEIGHT_PX + 2 * TRACK_PADDING_PX,
  };
}

function getTotalHeight(bands: readonly TrackBand[]): number {
  const last = bands.at(-1);
  return last ? last.top + last.height : 0;
}
