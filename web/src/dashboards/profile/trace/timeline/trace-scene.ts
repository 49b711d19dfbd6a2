import type { ChartTheme } from '../../../../charts/renderer/chart-theme';
import type { EventDetails, EventRow, FlowArrows } from '../../schemas';
import type { TraceModel } from '../trace-model.svelte';
import type { TraceState } from '../trace-state.svelte';
import type { BarPalette } from './bar-renderer';
import type {
  ArrowEnd,
  EventPosition,
  FlowArrow,
  TimelineGeometry,
  TimelineOverlay,
} from './overlay-renderer';
import { getTileLevel, getTileNumbers, type TileRange } from './tile-cache';
import { getSpanLength, type TimeSpan } from './time-axis';
import type { TrackBand } from './track-layout';
import type { TimelineScene } from './track-renderer';

/** The arrows of the chosen event and, where `all` are wanted, those of the others. */
export function makeFlowArrows(model: TraceModel, all: boolean): FlowArrow[] {
  const chosen = model.selectedEvent === null ? null : model.eventQuery.data;
  const others = all && model.flowsQuery.data ? readFlowArrows(model.flowsQuery.data) : [];
  return chosen ? [...others, ...makeEventArrows(chosen)] : others;
}

function makeEventArrows({ row, came_from, led_to }: EventDetails): FlowArrow[] {
  const end = ({ track, lane, start_ps }: EventRow): ArrowEnd => ({ track, lane, ps: start_ps });
  return [
    ...came_from.map((from) => ({ from: end(from), to: end(row), isSelected: true })),
    ...led_to.map((to) => ({ from: end(row), to: end(to), isSelected: true })),
  ];
}

function readFlowArrows(answer: FlowArrows): FlowArrow[] {
  const { source_track, source_lane, source_ps, target_track, target_lane, target_ps } = answer;
  const end = (track: Int32Array, lane: Int32Array, ps: Float64Array, at: number): ArrowEnd => ({
    track: track[at] ?? -1,
    lane: lane[at] ?? 0,
    ps: ps[at] ?? 0,
  });
  return Array.from(answer.source, (_, at) => ({
    from: end(source_track, source_lane, source_ps, at),
    to: end(target_track, target_lane, target_ps, at),
    isSelected: false,
  }));
}

/** What is drawn of a capture; null as long as nothing is known of it. */
export function makeScene(
  trace: TraceState,
  model: TraceModel,
  shades: BarPalette,
  { text: ink }: ChartTheme,
): TimelineScene | null {
  const { tiles, timelineQuery, layout, scroll, highlight, params } = model;
  if (!tiles || !timelineQuery.data) return null;
  const { steps } = timelineQuery.data;
  const [span, byTrack] = [trace.getVisibleSpan(model), params.colour.value === 'track'];
  return {
    layout,
    scroll,
    span,
    steps,
    tiles,
    highlight,
    palette: shades,
    colorByTrack: byTrack,
    textColor: ink,
  };
}

export function makeGeometry(trace: TraceState, model: TraceModel): TimelineGeometry {
  const { width, height } = model;
  return {
    width,
    height,
    span: trace.getVisibleSpan(model),
    findBand: (track) => model.findBand(track),
  };
}

/** What lies over it, wherever the pointer is. */
export function makeOverlay(
  model: TraceModel,
  colors: ChartTheme,
): Omit<TimelineOverlay, 'hovered' | 'cursorPs'> {
  return {
    selected: getSelectedPosition(model),
    selection: model.measured,
    arrows: makeFlowArrows(model, model.params.arrows.value),
    colors,
  };
}

function getSelectedPosition({ selectedEvent, eventQuery }: TraceModel): EventPosition | null {
  const row = selectedEvent === null ? null : eventQuery.data?.row;
  if (!row) return null;
  return { track: row.track, lane: row.lane, start: row.start_ps, duration: row.duration_ps };
}

/** The strip above has room for this many tracks. */
export const MINIMAP_TRACKS = 8;
/** What lies a little below or above the screen is wanted as well. */
const MARGIN_PX = 200;

/** The tiles to ask for: what is seen, the whole for the strip above, then what is beside. */
export function listWantedTiles(
  model: TraceModel,
  span: TimeSpan,
  whole: TimeSpan,
  width: number,
): TileRange[] {
  const level = getTileLevel(getSpanLength(span) / width / devicePixelRatio);
  const [first, last] = getTileNumbers(level, span);
  const tracks = listVisibleTracks(model);
  const strip = model.tracks.slice(0, MINIMAP_TRACKS).map(({ id }) => id);
  const coarse = getTileLevel(getSpanLength(whole) / width / devicePixelRatio);
  const [from, to] = getTileNumbers(coarse, whole);
  return [
    { level: coarse, first: from, last: to, tracks: strip },
    { level, first, last, tracks },
    { level: coarse, first: from, last: to, tracks },
    { level, first: first - 1, last: last + 1, tracks },
  ];
}

function listVisibleTracks({ layout, scroll, height }: TraceModel): number[] {
  const { pinned, unpinned } = layout;
  const isSeen = ({ top, height: high }: TrackBand): boolean =>
    top + high > scroll - MARGIN_PX && top < scroll + height + MARGIN_PX;
  return [...pinned, ...unpinned.filter(isSeen)].map(({ track }) => track.id);
}
