import type { ChartTheme } from '../../../../charts/renderer/renderer';
import type { EventDetails, EventRow, EventSet, FlowArrows } from '../../../../api/schemas';
import type { TraceModel } from '../trace-model.svelte';
import type { TraceState } from '../trace-state.svelte';
import type { BarPalette } from './bar-renderer';
import type {
  ArrowEnd,
  EventPosition,
  FlowArrow,
  TimelineGeometry,
  TimelineOverlay,
  TimelineScene,
} from './track-renderer';
import { getTileLevel, getTileNumbers, type TileRequest } from './tile-cache';
import { getSpanLength, type TimeSpan, type TrackBand } from './timeline-layout';

/** Return the flows of the selected event and, with `all`, those of other visible events. */
function makeFlowArrows(model: TraceModel, all: boolean): FlowArrow[] {
  const selected = model.selectedEvent === null ? null : model.eventQuery.data;
  const others = all && model.flowsQuery.data ? readFlowArrows(model.flowsQuery.data) : [];
  return selected ? [...others, ...makeEventArrows(selected)] : others;
}

function makeEventArrows({ row, incoming, outgoing }: EventDetails): FlowArrow[] {
  const end = ({ track, lane, start_ps }: EventRow): ArrowEnd => ({ track, lane, ps: start_ps });
  return [
    ...incoming.map((from) => ({ from: end(from), to: end(row), isSelected: true })),
    ...outgoing.map((to) => ({ from: end(row), to: end(to), isSelected: true })),
  ];
}

function readFlowArrows(response: FlowArrows): FlowArrow[] {
  const { source_track, source_lane, source_ps, target_track, target_lane, target_ps } = response;
  const end = (track: Int32Array, lane: Int32Array, ps: Float64Array, index: number): ArrowEnd => ({
    track: track[index] ?? -1,
    lane: lane[index] ?? 0,
    ps: ps[index] ?? 0,
  });
  return Array.from(response.source, (_, index) => ({
    from: end(source_track, source_lane, source_ps, index),
    to: end(target_track, target_lane, target_ps, index),
    isSelected: false,
  }));
}

/** Return what is drawn of a capture; null until its timeline is loaded. */
export function makeScene(
  trace: TraceState,
  model: TraceModel,
  palette: BarPalette,
  { text: textColor }: ChartTheme,
): TimelineScene | null {
  const { tiles, timelineQuery, layout, scroll, highlight, params } = model;
  if (!tiles || !timelineQuery.data) return null;
  const { steps } = timelineQuery.data;
  return {
    layout,
    scroll,
    span: trace.getVisibleSpan(model),
    steps,
    tiles,
    highlight,
    palette,
    colorByTrack: params.colorBy.value === 'track',
    textColor,
  };
}

export function makeGeometry(trace: TraceState, model: TraceModel): TimelineGeometry {
  const { width, height, scroll } = model;
  // The positions of tracks change with it.
  void scroll;
  return {
    width,
    height,
    span: trace.getVisibleSpan(model),
    pinnedHeight: model.layout.pinnedHeight,
    findBand: makeBandFinder(model),
  };
}

/** Return what is drawn over the tracks, except at the pointer. */
export function makeOverlay(
  model: TraceModel,
  colors: ChartTheme,
): Omit<TimelineOverlay, 'hovered' | 'cursorPs'> {
  return {
    selected: getSelectedPosition(model),
    selection: model.measured,
    marks: iterMarks(model.eventSet),
    markedSpans: (model.rows ?? []).filter(({ event }) => event === null),
    box: model.draggedBox,
    arrows: makeFlowArrows(model, model.params.showsFlows.value),
    colors,
  };
}

/** Return `findBand` of a model that finds each track once, as there may be many marks. */
function makeBandFinder(model: TraceModel): TimelineGeometry['findBand'] {
  const found = new Map<number, ReturnType<TimelineGeometry['findBand']>>();
  return (track) => {
    if (!found.has(track)) found.set(track, model.findBand(track));
    return found.get(track);
  };
}

function* iterMarks(set: EventSet | null): Iterable<EventPosition> {
  for (const [index, track] of set?.track.entries() ?? [])
    yield {
      track,
      lane: set?.lane[index] ?? 0,
      start: set?.start_ps[index] ?? 0,
      duration: set?.duration_ps[index] ?? 0,
    };
}

function getSelectedPosition({ selectedEvent, eventQuery }: TraceModel): EventPosition | null {
  const row = selectedEvent === null ? null : eventQuery.data?.row;
  if (!row) return null;
  return { track: row.track, lane: row.lane, start: row.start_ps, duration: row.duration_ps };
}

/** Number of tracks in the minimap. */
export const MINIMAP_TRACKS = 8;
/** Tracks this close to the visible area are loaded as well. */
const MARGIN_PX = 200;

/** Return the tiles to load: the minimap, the visible span, coarse tiles, then neighbors. */
export function listWantedTiles(
  model: TraceModel,
  span: TimeSpan,
  bounds: TimeSpan,
  width: number,
): TileRequest[] {
  const level = getTileLevel(getSpanLength(span) / width / devicePixelRatio);
  const [first, last] = getTileNumbers(level, span);
  const tracks = listVisibleTracks(model);
  const minimapTracks = model.tracks.slice(0, MINIMAP_TRACKS).map(({ id }) => id);
  const coarseLevel = getTileLevel(getSpanLength(bounds) / width / devicePixelRatio);
  const [coarseFirst, coarseLast] = getTileNumbers(coarseLevel, bounds);
  const coarse = { level: coarseLevel, first: coarseFirst, last: coarseLast };
  return [
    { ...coarse, tracks: minimapTracks },
    { level, first, last, tracks },
    { ...coarse, tracks },
    { level, first: first - 1, last: last + 1, tracks },
  ];
}

function listVisibleTracks({ layout, scroll, height }: TraceModel): number[] {
  const { pinned, unpinned } = layout;
  const isNear = ({ top, height: bandHeight }: TrackBand): boolean =>
    top + bandHeight > scroll - MARGIN_PX && top < scroll + height + MARGIN_PX;
  return [...pinned, ...unpinned.filter(isNear)].map(({ track }) => track.id);
}
