import type { Shortcut } from '../../../plugin/context';
import {
  findFirstEndingAfter,
  getTileLevel,
  readEntry,
  type TileEntry,
  type TrackTile,
} from './timeline/tile-cache';
import {
  findBandAt,
  findLaneAt,
  getSpanLength,
  shiftSpan,
  type TimeSpan,
  type TrackBand,
  zoomSpan,
  EMPTY_SELECTION,
  listBoxes,
  toggleBoxes,
} from './timeline/timeline-layout';
import type { BoxPx, TraceModel } from './trace-model.svelte';
import type { TraceState } from './trace-state.svelte';
import * as common from '../../../catalog/common';
import * as m from '../../../catalog/profile';

// ---- Hit testing

/** What is under the pointer. */
export interface HitResult {
  readonly band: TrackBand;
  readonly lane: number | null;
  readonly tiles: readonly TrackTile[];
  readonly entry: TileEntry | null;
}

/** Many bars are narrower than the precision of a pointer. */
const HIT_TOLERANCE_PX = 2;

export function hitTest(
  model: TraceModel,
  span: TimeSpan,
  width: number,
  point: PointPx,
): HitResult | null {
  const { pinned, pinnedHeight, unpinned } = model.layout;
  const isPinned = point.y < pinnedHeight;
  const y = isPinned ? point.y : point.y - pinnedHeight + model.scroll;
  const band = findBandAt(isPinned ? pinned : unpinned, y);
  if (!band || !model.tiles) return null;
  const lane = findLaneAt(band, y);
  const psPerPixel = getSpanLength(span) / width;
  const tiles = model.tiles.getTiles(
    getTileLevel(psPerPixel / devicePixelRatio),
    span,
    band.track.id,
  );
  const timePs = span.start + point.x * psPerPixel;
  return {
    band,
    lane,
    tiles,
    entry: lane === null ? null : findNearestEntry(tiles, lane, timePs, psPerPixel),
  };
}

function findNearestEntry(
  tiles: readonly TrackTile[],
  lane: number,
  timePs: number,
  psPerPixel: number,
): TileEntry | null {
  const maxDistance = HIT_TOLERANCE_PX * psPerPixel;
  let nearest: TileEntry | null = null;
  let distance = maxDistance;
  for (const tile of tiles) {
    const to = tile.lanes[lane + 1] ?? 0;
    const from = findFirstEndingAfter(tile, tile.lanes[lane] ?? 0, to, timePs - maxDistance);
    for (let index = from; index < to; index++) {
      const entry = readEntry(tile, index);
      if (entry.start > timePs + maxDistance) break;
      const end = entry.start + entry.duration;
      const gap = Math.max(0, entry.start - timePs, timePs - end);
      if (gap > distance || (nearest && gap === distance)) continue;
      [nearest, distance] = [entry, gap];
    }
  }
  return nearest;
}

/** Return the nearest start or end of an event in a lane within a distance, else the time. */
export function snapToEdge(
  tiles: readonly TrackTile[],
  lane: number | null,
  timePs: number,
  maxDistance: number,
): number {
  let nearest = timePs;
  let distance = maxDistance;
  const consider = (edge: number): void => {
    const gap = Math.abs(edge - timePs);
    if (gap >= distance) return;
    [nearest, distance] = [edge, gap];
  };
  if (lane === null) return timePs;
  for (const { lanes, start, duration } of tiles) {
    for (let index = lanes[lane] ?? 0; index < (lanes[lane + 1] ?? 0); index++) {
      const eventStart = start[index] ?? 0;
      if (eventStart > timePs + maxDistance) break;
      consider(eventStart);
      consider(eventStart + (duration[index] ?? 0));
    }
  }
  return nearest;
}

// ---- Gestures

/** Called with positions in pixels from the upper left corner. */
export interface GestureHandlers {
  hover(x: number, y: number): void;
  leave(): void;
  /** `isMultiple` with Ctrl or ⌘. */
  click(x: number, y: number, isMultiple: boolean): void;
  zoomToEvent(x: number, y: number): void;
  pan(dx: number, dy: number): void;
  scroll(dy: number): void;
  zoom(factor: number, x: number): void;
  /** `isDone` when the pointer is released. */
  select(from: PointPx, to: PointPx, isDone: boolean): void;
  /** Select all events in a rectangle. */
  selectBox(from: PointPx, to: PointPx, isDone: boolean): void;
}

export interface PointPx {
  readonly x: number;
  readonly y: number;
}

/** Shorter movements are clicks. */
const CLICK_TOLERANCE_PX = 4;
const LINE_PX = 18;
const WHEEL_ZOOM = 1.0022;
const PINCH_ZOOM = 1.012;

/**
 * Handle pointer, wheel and touch. A finger pans. A mouse measures a range; it selects a rectangle
 * with Ctrl or ⌘, and pans with Shift.
 */
export function attachGestures(element: HTMLElement, handlers: GestureHandlers): () => void {
  const removal = new AbortController();
  const on = <Name extends keyof HTMLElementEventMap>(
    name: Name,
    act: (event: HTMLElementEventMap[Name]) => void,
  ): void => element.addEventListener(name, act, { signal: removal.signal, passive: false });
  const getPoint = (event: MouseEvent): PointPx => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const pointers = new Map<number, PointPx>();
  let origin: PointPx | null = null;
  let isPan = false;
  let isMultiple = false;
  let hasMoved = false;

  on('pointerdown', (event) => {
    if (event.button > 1) return;
    const point = getPoint(event);
    pointers.set(event.pointerId, point);
    origin = point;
    hasMoved = pointers.size > 1;
    isPan = event.pointerType === 'touch' || event.shiftKey || event.button === 1;
    isMultiple = !isPan && (event.ctrlKey || event.metaKey);
    element.setPointerCapture(event.pointerId);
    if (event.button === 1) event.preventDefault();
  });
  on('pointermove', (event) => {
    const point = getPoint(event);
    const previous = pointers.get(event.pointerId);
    if (!previous || !origin) return handlers.hover(point.x, point.y);
    if (Math.hypot(point.x - origin.x, point.y - origin.y) < CLICK_TOLERANCE_PX && !hasMoved)
      return;
    hasMoved = true;
    pointers.set(event.pointerId, point);
    if (pointers.size > 1) handlePinch(pointers, event.pointerId, previous, handlers);
    else if (isPan) handlers.pan(point.x - previous.x, point.y - previous.y);
    else if (isMultiple) handlers.selectBox(origin, point, false);
    else handlers.select(origin, point, false);
  });
  const end = (event: PointerEvent): void => {
    if (!pointers.delete(event.pointerId) || !origin) return;
    const point = getPoint(event);
    if (!hasMoved) handlers.click(point.x, point.y, isMultiple);
    else if (isMultiple) handlers.selectBox(origin, point, true);
    else if (!isPan && pointers.size === 0) handlers.select(origin, point, true);
    if (pointers.size === 0) origin = null;
  };
  on('pointerup', end);
  on('pointercancel', end);
  on('pointerleave', () => handlers.leave());
  on('dblclick', (event) => {
    const { x, y } = getPoint(event);
    handlers.zoomToEvent(x, y);
  });
  on('wheel', (event) => {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    // A pinch on a touchpad is reported as a wheel with Ctrl, in small steps.
    const base = Math.abs(dy) < 20 ? PINCH_ZOOM : WHEEL_ZOOM;
    if (event.ctrlKey || event.metaKey) handlers.zoom(base ** dy, getPoint(event).x);
    else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) handlers.pan(-(dx || dy), 0);
    else handlers.scroll(dy);
  });
  return () => removal.abort();
}

/** Zoom and pan so that the content follows both fingers. */
function handlePinch(
  pointers: ReadonlyMap<number, PointPx>,
  id: number,
  previous: PointPx,
  handlers: GestureHandlers,
): void {
  const current = pointers.get(id);
  const other = [...pointers].find(([each]) => each !== id)?.[1];
  if (!current || !other) return;
  const [distance, previousDistance] = [
    Math.abs(current.x - other.x),
    Math.abs(previous.x - other.x),
  ];
  if (distance > 10 && previousDistance > 10)
    handlers.zoom(previousDistance / distance, (current.x + other.x) / 2);
  handlers.pan((current.x - previous.x) / 2, (current.y - previous.y) / 2);
}

const SNAP_PX = 6;

export interface HoveredEvent {
  readonly hit: HitResult;
  readonly x: number;
  readonly y: number;
}

/** Return the gestures of the timeline of a capture. */
export function makeGestureHandlers(
  trace: TraceState,
  model: () => TraceModel,
  width: () => number,
  onhover: (hovered: HoveredEvent | null) => void,
): GestureHandlers {
  const { viewport } = trace;
  const psPerPixel = (): number => getSpanLength(viewport.span) / width();
  const find = (point: PointPx): HitResult | null =>
    hitTest(model(), trace.getVisibleSpan(model()), width(), point);
  const getSnappedTime = (point: PointPx): number => {
    const found = find(point);
    const timePs = trace.getVisibleSpan(model()).start + point.x * psPerPixel();
    return found ? snapToEdge(found.tiles, found.lane, timePs, SNAP_PX * psPerPixel()) : timePs;
  };
  /** Add what is under the pointer to the selection, or remove it. */
  const toggle = (found: HitResult | null): void => {
    const { canInspect, params } = model();
    if (!found?.entry || found.lane === null || !canInspect) return;
    const { event, count, start, duration } = found.entry;
    if (count === 1) return trace.toggleEvent(model(), event);
    const lanes = { track: found.band.track.id, first_lane: found.lane, last_lane: found.lane };
    const box = { start, end: start + duration, ...lanes };
    trace.selectEvents(model(), toggleBoxes(params.selection.value, [box]));
  };
  return {
    hover(x, y) {
      trace.cursorPs = viewport.span.start + x * psPerPixel();
      const found = find({ x, y });
      onhover(found && { hit: found, x, y });
    },
    leave() {
      trace.cursorPs = null;
      onhover(null);
    },
    click(x, y, isMultiple) {
      const found = find({ x, y });
      if (isMultiple) return toggle(found);
      trace.selectEvents(model(), EMPTY_SELECTION);
      trace.measureRange(model(), null);
      trace.selectEvent(model(), model().canInspect ? (found?.entry?.event ?? null) : null);
    },
    zoomToEvent(x, y) {
      const entry = find({ x, y })?.entry;
      if (!entry) return viewport.resetZoom();
      const start = entry.start - trace.getOffset(model());
      const margin = 0.1 * entry.duration;
      viewport.animateTo({ start: start - margin, end: start + entry.duration + margin });
    },
    pan(dx, dy) {
      viewport.jumpTo(shiftSpan(viewport.span, -dx * psPerPixel()));
      model().scrollTo(model().scroll - dy);
      onhover(null);
    },
    scroll(dy) {
      model().scrollTo(model().scroll + dy);
      onhover(null);
    },
    zoom(factor, x) {
      viewport.jumpTo(zoomSpan(viewport.span, factor, viewport.span.start + x * psPerPixel()));
      onhover(null);
    },
    select(from, to, isDone) {
      const [first, second] = [getSnappedTime(from), getSnappedTime(to)];
      const span = { start: Math.min(first, second), end: Math.max(first, second) };
      if (isDone && getSpanLength(span) === 0) trace.measureRange(model(), null);
      else trace.measureRange(model(), span, listTracksBetween(model(), from.y, to.y), isDone);
    },
    selectBox(from, to, isDone) {
      const { layout, scroll, params, canInspect } = model();
      onhover(null);
      model().draggedBox = isDone || !canInspect ? null : makeBox(from, to);
      if (!isDone || !canInspect) return;
      const visible = trace.getVisibleSpan(model());
      const { left, width: boxWidth } = makeBox(from, to);
      const start = visible.start + left * psPerPixel();
      const span = { start, end: start + boxWidth * psPerPixel() };
      const boxes = listBoxes(layout, scroll, span, from.y, to.y);
      trace.selectEvents(model(), toggleBoxes(params.selection.value, boxes));
    },
  };
}

/** Return the rectangle between two points. */
function makeBox(from: PointPx, to: PointPx): BoxPx {
  const [left, top] = [Math.min(from.x, to.x), Math.min(from.y, to.y)];
  return { left, top, width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y) };
}

/** Return the tracks between two heights; all tracks if that is only one. */
function listTracksBetween(model: TraceModel, from: number, to: number): readonly number[] {
  const [top, bottom] = [Math.min(from, to), Math.max(from, to)];
  const { pinned, unpinned, pinnedHeight } = model.layout;
  const shift = pinnedHeight - model.scroll;
  const between = [
    ...pinned.filter((band) => band.top < bottom && band.top + band.height > top),
    ...unpinned.filter((band) => band.top + shift < bottom && band.top + shift + band.height > top),
  ];
  return between.length > 1 ? between.map(({ track }) => track.id) : model.shownTracks;
}

// ---- Keyboard shortcuts

const ZOOM_FACTOR = 0.7;
const PAN_SHARE = 0.12;
const SCROLL_PX = 54;

/** Register the shortcuts of the trace viewer; returns a function that removes them. */
export function registerTraceShortcuts(trace: TraceState, focusSearch: () => void): () => void {
  const { viewport } = trace;
  const getCenter = (): number => trace.cursorFraction ?? 0.5;
  const scroll = (by: number): void =>
    trace.models.forEach((model) => model.scrollTo(model.scroll + by));
  const goToSame = (which: 'next' | 'previous' | 'longest') => (): void => {
    const event = trace.active.eventQuery.data?.same_name[which] ?? null;
    if (event !== null) trace.goToEvent(trace.active, event);
  };
  const zoomIn = (): void => viewport.zoomBy(ZOOM_FACTOR, getCenter());
  const zoomOut = (): void => viewport.zoomBy(1 / ZOOM_FACTOR, getCenter());
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'w', label: common.zoomIn, run: zoomIn },
    { keys: 's', label: common.zoomOut, run: zoomOut },
    { keys: 'a', label: m.traceShortcutPanLeft, run: () => viewport.panBy(-PAN_SHARE) },
    { keys: 'd', label: m.traceShortcutPanRight, run: () => viewport.panBy(PAN_SHARE) },
    { keys: 'ArrowLeft', label: m.traceShortcutPanLeft, run: () => viewport.panBy(-PAN_SHARE) },
    { keys: 'ArrowRight', label: m.traceShortcutPanRight, run: () => viewport.panBy(PAN_SHARE) },
    { keys: 'ArrowUp', label: m.traceShortcutScrollUp, run: () => scroll(-SCROLL_PX) },
    { keys: 'ArrowDown', label: m.traceShortcutScrollDown, run: () => scroll(SCROLL_PX) },
    { keys: '+', label: common.zoomIn, run: zoomIn },
    { keys: '-', label: common.zoomOut, run: zoomOut },
    { keys: 'z', label: common.resetZoom, run: () => viewport.resetZoom() },
    { keys: 'e', label: common.zoomToSelection, run: () => trace.zoomToSelection() },
    { keys: 'm', label: m.traceShortcutMeasure, run: () => trace.measureSelectedEvent() },
    { keys: 'f', label: m.traceSearchLabel, run: focusSearch },
    { keys: 'n', label: common.nextMatch, run: () => trace.searchNavigator.moveBy(1) },
    { keys: 'p', label: common.previousMatch, run: () => trace.searchNavigator.moveBy(-1) },
    { keys: '.', label: m.traceMarkNext, run: () => trace.markNavigator.moveBy(1) },
    { keys: ',', label: m.traceMarkPrevious, run: () => trace.markNavigator.moveBy(-1) },
    { keys: ']', label: m.traceShortcutNextSame, run: goToSame('next') },
    { keys: '[', label: m.traceShortcutPreviousSame, run: goToSame('previous') },
    { keys: 'Shift+L', label: m.traceShortcutLongestSame, run: goToSame('longest') },
    { keys: 'Escape', label: common.clearSelection, run: () => trace.clearSelection() },
  ];
  const removers = shortcuts.map((shortcut) =>
    trace.profile.context.shortcuts.register({ ...shortcut, group: common.trace }),
  );
  return () => removers.forEach((remove) => remove());
}
