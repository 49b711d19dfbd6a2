import type { Shortcut } from '../../../plugin/context';
import {
  findFirstEndingAfter,
  getTileLevel,
  readEntry,
  type TileEntry,
  type TrackTile,
} from './timeline/tile-cache';
import { getSpanLength, shiftSpan, type TimeSpan, zoomSpan } from './timeline/time-axis';
import { findBandAt, findLaneAt, type TrackBand } from './timeline/track-layout';
import type { TraceModel } from './trace-model.svelte';
import type { TraceState } from './trace-state.svelte';

/** What is at a place of the stage. */
export interface HitResult {
  readonly band: TrackBand;
  readonly lane: number | null;
  readonly tiles: readonly TrackTile[];
  readonly entry: TileEntry | null;
}

/** A bar this close is meant: most are narrower than a pointer is steady. */
const HIT_TOLERANCE_PX = 2;

export function hitTest(
  model: TraceModel,
  span: TimeSpan,
  width: number,
  place: { readonly x: number; readonly y: number },
): HitResult | null {
  const { pinned, pinnedHeight, unpinned } = model.layout;
  const isPinned = place.y < pinnedHeight;
  const y = isPinned ? place.y : place.y - pinnedHeight + model.scroll;
  const band = findBandAt(isPinned ? pinned : unpinned, y);
  if (!band || !model.tiles) return null;
  const lane = findLaneAt(band, y);
  const perPixel = getSpanLength(span) / width;
  const parts = model.tiles.getTiles(
    getTileLevel(perPixel / devicePixelRatio),
    span,
    band.track.id,
  );
  const moment = span.start + place.x * perPixel;
  return {
    band,
    lane,
    tiles: parts,
    entry: lane === null ? null : findNearestEntry(parts, lane, moment, perPixel),
  };
}

function findNearestEntry(
  parts: readonly TrackTile[],
  lane: number,
  moment: number,
  perPixel: number,
): TileEntry | null {
  const reach = HIT_TOLERANCE_PX * perPixel;
  let nearest: TileEntry | null = null;
  let distance = reach;
  for (const part of parts) {
    const to = part.lanes[lane + 1] ?? 0;
    for (
      let each = findFirstEndingAfter(part, part.lanes[lane] ?? 0, to, moment - reach);
      each < to;
      each++
    ) {
      const entry = readEntry(part, each);
      if (entry.start > moment + reach) break;
      const end = entry.start + entry.duration;
      const away = Math.max(0, entry.start - moment, moment - end);
      if (away > distance || (nearest && away === distance)) continue;
      [nearest, distance] = [entry, away];
    }
  }
  return nearest;
}

/** The edge of an event in a lane that is nearest to a moment, if it is no further than `reach`. */
export function snapToEdge(
  parts: readonly TrackTile[],
  lane: number | null,
  moment: number,
  reach: number,
): number {
  let nearest = moment;
  let distance = reach;
  const consider = (edge: number): void => {
    const away = Math.abs(edge - moment);
    if (away >= distance) return;
    [nearest, distance] = [edge, away];
  };
  if (lane === null) return moment;
  for (const { lanes, start, duration } of parts) {
    for (let at = lanes[lane] ?? 0; at < (lanes[lane + 1] ?? 0); at++) {
      const began = start[at] ?? 0;
      if (began > moment + reach) break;
      consider(began);
      consider(began + (duration[at] ?? 0));
    }
  }
  return nearest;
}

/** What a hand on the stage wants; places are in pixels from its upper left corner. */
export interface GestureHandlers {
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  zoomToEvent(x: number, y: number): void;
  /** By so many pixels to the right and down. */
  pan(dx: number, dy: number): void;
  scroll(dy: number): void;
  zoom(by: number, x: number): void;
  /** From where to where is being selected; `done` when the hand lets go. */
  select(from: PointPx, to: PointPx, done: boolean): void;
}

export interface PointPx {
  readonly x: number;
  readonly y: number;
}

/** Less than this is a click that trembled. */
const CLICK_TOLERANCE_PX = 4;
const LINE_PX = 18;
const WHEEL_ZOOM = 1.0022;
const PINCH_ZOOM = 1.012;

/** Listens to a pointer, a wheel and fingers. A finger drags; a mouse selects, and drags with Shift. */
export function attachGestures(element: HTMLElement, wishes: GestureHandlers): () => void {
  const ending = new AbortController();
  const on = <Name extends keyof HTMLElementEventMap>(
    name: Name,
    act: (event: HTMLElementEventMap[Name]) => void,
  ): void => element.addEventListener(name, act, { signal: ending.signal, passive: false });
  const placeOf = (event: MouseEvent): PointPx => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const fingers = new Map<number, PointPx>();
  let began: PointPx | null = null;
  let drags = false;
  let moved = false;

  on('pointerdown', (event) => {
    if (event.button > 1) return;
    const place = placeOf(event);
    fingers.set(event.pointerId, place);
    began = place;
    moved = fingers.size > 1;
    drags = event.pointerType === 'touch' || event.shiftKey || event.button === 1;
    element.setPointerCapture(event.pointerId);
    if (event.button === 1) event.preventDefault();
  });
  on('pointermove', (event) => {
    const place = placeOf(event);
    const before = fingers.get(event.pointerId);
    if (!before || !began) return wishes.hover(place.x, place.y);
    if (Math.hypot(place.x - began.x, place.y - began.y) < CLICK_TOLERANCE_PX && !moved) return;
    moved = true;
    fingers.set(event.pointerId, place);
    if (fingers.size > 1) handlePinch(fingers, event.pointerId, before, wishes);
    else if (drags) wishes.pan(place.x - before.x, place.y - before.y);
    else wishes.select(began, place, false);
  });
  const end = (event: PointerEvent): void => {
    if (!fingers.delete(event.pointerId) || !began) return;
    const place = placeOf(event);
    if (!moved) wishes.click(place.x, place.y);
    else if (!drags && fingers.size === 0) wishes.select(began, place, true);
    if (fingers.size === 0) began = null;
  };
  on('pointerup', end);
  on('pointercancel', end);
  on('pointerleave', () => wishes.leave());
  on('dblclick', (event) => {
    const { x, y } = placeOf(event);
    wishes.zoomToEvent(x, y);
  });
  on('wheel', (event) => {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    // A pinch on a touchpad comes as a wheel with the control key, in small steps.
    const base = Math.abs(dy) < 20 ? PINCH_ZOOM : WHEEL_ZOOM;
    if (event.ctrlKey || event.metaKey) wishes.zoom(base ** dy, placeOf(event).x);
    else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) wishes.pan(-(dx || dy), 0);
    else wishes.scroll(dy);
  });
  return () => ending.abort();
}

/** Two fingers: what was between them stays between them. */
function handlePinch(
  fingers: ReadonlyMap<number, PointPx>,
  id: number,
  before: PointPx,
  wishes: GestureHandlers,
): void {
  const now = fingers.get(id);
  const other = [...fingers].find(([each]) => each !== id)?.[1];
  if (!now || !other) return;
  const [wide, narrow] = [Math.abs(now.x - other.x), Math.abs(before.x - other.x)];
  if (wide > 10 && narrow > 10) wishes.zoom(narrow / wide, (now.x + other.x) / 2);
  wishes.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
}

const SNAP_PX = 6;

export interface HoveredEvent {
  readonly hit: HitResult;
  readonly x: number;
  readonly y: number;
}

/** What a hand on the stage of a capture brings about. */
export function makeGestureHandlers(
  trace: TraceState,
  model: () => TraceModel,
  width: () => number,
  onhover: (hovered: HoveredEvent | null) => void,
): GestureHandlers {
  const { viewport } = trace;
  const perPixel = (): number => getSpanLength(viewport.span) / width();
  const find = (place: PointPx): HitResult | null =>
    hitTest(model(), trace.getVisibleSpan(model()), width(), place);
  const momentAt = (place: PointPx): number => {
    const found = find(place);
    const moment = trace.getVisibleSpan(model()).start + place.x * perPixel();
    return found ? snapToEdge(found.tiles, found.lane, moment, SNAP_PX * perPixel()) : moment;
  };
  return {
    hover(x, y) {
      trace.cursorPs = viewport.span.start + x * perPixel();
      const found = find({ x, y });
      onhover(found && { hit: found, x, y });
    },
    leave() {
      trace.cursorPs = null;
      onhover(null);
    },
    click(x, y) {
      const found = find({ x, y });
      trace.measureRange(model(), null);
      trace.selectEvent(model(), model().isStatic ? null : (found?.entry?.event ?? null));
    },
    zoomToEvent(x, y) {
      const entry = find({ x, y })?.entry;
      if (!entry) return viewport.resetZoom();
      const start = entry.start - trace.getOffset(model());
      const air = 0.1 * entry.duration;
      viewport.animateTo({ start: start - air, end: start + entry.duration + air });
    },
    pan(dx, dy) {
      viewport.jumpTo(shiftSpan(viewport.span, -dx * perPixel()));
      model().scrollTo(model().scroll - dy);
      onhover(null);
    },
    scroll(dy) {
      model().scrollTo(model().scroll + dy);
      onhover(null);
    },
    zoom(by, x) {
      viewport.jumpTo(zoomSpan(viewport.span, by, viewport.span.start + x * perPixel()));
      onhover(null);
    },
    select(from, to, done) {
      const [one, other] = [momentAt(from), momentAt(to)];
      const span = { start: Math.min(one, other), end: Math.max(one, other) };
      trace.measureRange(model(), span, listTracksBetween(model(), from.y, to.y));
      if (done && getSpanLength(span) === 0) trace.measureRange(model(), null);
    },
  };
}

/** The tracks that a hand passed over; all of them where it stayed in one height. */
function listTracksBetween(model: TraceModel, from: number, to: number): readonly number[] {
  const [top, bottom] = [Math.min(from, to), Math.max(from, to)];
  const { pinned, unpinned, pinnedHeight } = model.layout;
  const shift = pinnedHeight - model.scroll;
  const touched = [
    ...pinned.filter((band) => band.top < bottom && band.top + band.height > top),
    ...unpinned.filter((band) => band.top + shift < bottom && band.top + shift + band.height > top),
  ];
  return touched.length > 1 ? touched.map(({ track }) => track.id) : model.shownTracks;
}

const ZOOM_FACTOR = 0.7;
const PAN_SHARE = 0.12;
const SCROLL_PX = 54;

/** The keys of the trace viewer; returns how to take them back. */
export function registerTraceShortcuts(trace: TraceState, focusSearch: () => void): () => void {
  const { viewport } = trace;
  const around = (): number => trace.cursorFraction ?? 0.5;
  const scroll = (by: number): void =>
    trace.models.forEach((model) => model.scrollTo(model.scroll + by));
  const like = (which: 'next' | 'previous' | 'longest') => (): void => {
    const event = trace.active.eventQuery.data?.same[which] ?? null;
    if (event !== null) trace.goToEvent(trace.active, event);
  };
  const zoomIn = (): void => viewport.zoomBy(ZOOM_FACTOR, around());
  const zoomOut = (): void => viewport.zoomBy(1 / ZOOM_FACTOR, around());
  const shortcuts: Omit<Shortcut, 'group'>[] = [
    { keys: 'w', label: 'Zoom in', run: zoomIn },
    { keys: 's', label: 'Zoom out', run: zoomOut },
    { keys: 'a', label: 'Earlier', run: () => viewport.panBy(-PAN_SHARE) },
    { keys: 'd', label: 'Later', run: () => viewport.panBy(PAN_SHARE) },
    { keys: 'ArrowLeft', label: 'Earlier', run: () => viewport.panBy(-PAN_SHARE) },
    { keys: 'ArrowRight', label: 'Later', run: () => viewport.panBy(PAN_SHARE) },
    { keys: 'ArrowUp', label: 'Tracks above', run: () => scroll(-SCROLL_PX) },
    { keys: 'ArrowDown', label: 'Tracks below', run: () => scroll(SCROLL_PX) },
    { keys: '+', label: 'Zoom in', run: zoomIn },
    { keys: '-', label: 'Zoom out', run: zoomOut },
    { keys: 'z', label: 'Whole trace', run: () => viewport.resetZoom() },
    { keys: 'e', label: 'Enlarge what is chosen or measured', run: () => trace.zoomToSelection() },
    { keys: 'm', label: 'Measure the chosen event', run: () => trace.measureSelectedEvent() },
    { keys: 'f', label: 'Find events', run: focusSearch },
    { keys: 'n', label: 'Next that was found', run: () => trace.searchNavigator.moveBy(1) },
    { keys: 'p', label: 'The one found before', run: () => trace.searchNavigator.moveBy(-1) },
    { keys: ']', label: 'Next event of this name', run: like('next') },
    { keys: '[', label: 'Event of this name before', run: like('previous') },
    { keys: 'Shift+L', label: 'Longest event of this name', run: like('longest') },
    { keys: 'Escape', label: 'Let go of what is chosen', run: () => trace.clearSelection() },
  ];
  const stops = shortcuts.map((shortcut) =>
    trace.profile.context.shortcuts.register({ ...shortcut, group: 'Trace' }),
  );
  return () => stops.forEach((stop) => stop());
}
