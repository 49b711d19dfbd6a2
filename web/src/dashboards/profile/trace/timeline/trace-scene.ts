import type { EventDetails, EventRow, EventSet, FlowArrows } from '../../../../api/schemas';
import { truncateToWidth } from '../../../../charts/axes/plot-axes';
import { type ChartTheme, LIGHT_THEME, makeFont } from '../../../../charts/renderer/renderer';
import type { TraceModel } from '../trace-model.svelte';
import type { TraceState } from '../trace-state.svelte';
import { type BarPalette, makeBarPalette } from './bar-renderer';
import { getTileLevel, getTileNumbers, type TileRequest } from './tile-cache';
import {
  formatDurationPs,
  getSpanLength,
  getTickCount,
  layoutSteps,
  makeTimeTicks,
  type TimeSpan,
  type TrackBand,
} from './timeline-layout';
import {
  type ArrowEnd,
  drawOverlay,
  type EventPosition,
  type FlowArrow,
  resizeCanvas,
  type TimelineGeometry,
  type TimelineOverlay,
  type TimelineScene,
  TrackRenderer,
} from './track-renderer';

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

const [TITLE_PX, RULER_PX, LABELS_PX, INSET_PX] = [36, 44, 190, 10];
const MIN_TICK_LABEL_PX = 44;
const STEP = { top: 24, height: 17 };

type ExportContext = OffscreenCanvasRenderingContext2D;

/** Draw the visible part of the trace in light colors; null if the image is too large. */
export async function renderTracePng(trace: TraceState, title: string): Promise<Blob | null> {
  const ratio = devicePixelRatio || 1;
  const width = LABELS_PX + trace.current.width;
  const height =
    TITLE_PX + trace.models.reduce((sum, model) => sum + RULER_PX + getModelHeight(model), 0);
  const canvas = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio));
  const context = canvas.getContext('2d');
  if (!context) return null;
  context.scale(ratio, ratio);
  context.fillStyle = LIGHT_THEME.background;
  context.fillRect(0, 0, width, height);
  drawText(context, title, INSET_PX, TITLE_PX / 2, width - 2 * INSET_PX, LIGHT_THEME.text, 14);
  let top = TITLE_PX;
  for (const model of trace.models) {
    drawModel(context, trace, model, top);
    top += RULER_PX + getModelHeight(model);
  }
  return canvas.convertToBlob({ type: 'image/png' });
}

/** Return the height without the empty area below the last track. */
function getModelHeight({ height, layout, scroll }: TraceModel): number {
  return Math.min(height, layout.pinnedHeight + layout.unpinnedHeight - scroll);
}

function drawModel(
  context: ExportContext,
  trace: TraceState,
  model: TraceModel,
  top: number,
): void {
  context.save();
  context.translate(0, top);
  drawRuler(context, trace, model);
  context.translate(0, RULER_PX);
  context.beginPath();
  context.rect(0, 0, LABELS_PX + model.width, getModelHeight(model));
  context.clip();
  const { unpinned, pinned, pinnedHeight } = model.layout;
  for (const band of unpinned)
    drawTrackLabel(context, band, band.top + pinnedHeight - model.scroll);
  for (const band of pinned) drawTrackLabel(context, band, band.top);
  for (const layer of renderLayers(trace, model))
    context.drawImage(layer, LABELS_PX, 0, model.width, model.height);
  context.restore();
}

/** Draw the canvases of the timeline in light colors. */
function renderLayers(trace: TraceState, model: TraceModel): HTMLCanvasElement[] {
  const [tracks, overlay] = [document.createElement('canvas'), document.createElement('canvas')];
  const ratio = resizeCanvas(tracks, model.width, model.height);
  const scene = makeScene(
    trace,
    model,
    makeBarPalette(LIGHT_THEME.background, LIGHT_THEME.axis, false),
    LIGHT_THEME,
  );
  if (scene) new TrackRenderer().draw(tracks, ratio, scene);
  resizeCanvas(overlay, model.width, model.height);
  const overlayContext = overlay.getContext('2d');
  overlayContext?.scale(ratio, ratio);
  if (overlayContext)
    drawOverlay(overlayContext, makeGeometry(trace, model), {
      ...makeOverlay(model, LIGHT_THEME),
      hovered: null,
      cursorPs: null,
    });
  return [tracks, overlay];
}

function drawRuler(context: ExportContext, trace: TraceState, model: TraceModel): void {
  const { width, timelineQuery } = model;
  const span = trace.getVisibleSpan(model);
  for (const { timePs, text } of makeTimeTicks(span, getTickCount(width))) {
    const x = LABELS_PX + ((timePs - span.start) / getSpanLength(span)) * width;
    context.fillStyle = LIGHT_THEME.axis;
    context.fillRect(Math.round(x), 0, 1, STEP.top - 2);
    const maxWidth = LABELS_PX + width - x - 4;
    if (maxWidth > MIN_TICK_LABEL_PX)
      drawText(context, text, x + 4, STEP.top / 2 - 1, maxWidth, LIGHT_THEME.label);
  }
  if (!timelineQuery.data) return;
  for (const step of layoutSteps(timelineQuery.data.steps, span, width)) {
    const left = LABELS_PX + step.left;
    context.fillStyle = step.index % 2 === 1 ? LIGHT_THEME.grid : LIGHT_THEME.axis;
    context.fillRect(left, STEP.top, step.width - 1, STEP.height);
    const text = step.showsDuration
      ? `${step.text} ${formatDurationPs(step.end - step.start)}`
      : step.text;
    drawText(
      context,
      text,
      left + 5,
      STEP.top + STEP.height / 2,
      step.width - 10,
      LIGHT_THEME.text,
    );
  }
}

function drawTrackLabel(context: ExportContext, { track, height }: TrackBand, top: number): void {
  context.fillStyle = LIGHT_THEME.background;
  context.fillRect(0, top, LABELS_PX, height);
  context.fillStyle = LIGHT_THEME.axis;
  context.fillRect(0, top + height - 1, LABELS_PX, 1);
  const name = track.name.trim() || track.process;
  drawText(context, name, INSET_PX, top + 13, LABELS_PX - 2 * INSET_PX, LIGHT_THEME.text, 12);
}

function drawText(
  context: ExportContext,
  text: string,
  x: number,
  y: number,
  maxWidth: number,
  color: string,
  size = 11,
): void {
  if (text === '') return;
  context.font = makeFont({ size });
  context.textBaseline = 'middle';
  context.fillStyle = color;
  const measureText = (text: string): number => context.measureText(text).width;
  context.fillText(truncateToWidth({ measureText }, text, maxWidth), x, y);
}
