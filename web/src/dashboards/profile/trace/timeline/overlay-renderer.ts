import { type TrackBand, getLaneTop } from './track-layout';
import type { TimeSpan } from './time-axis';

export interface ScreenBox {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Where things are on the screen. */
export interface TimelineGeometry {
  readonly width: number;
  readonly height: number;
  readonly span: TimeSpan;
  /** The band of a track and by how much it is moved; undefined where it is not shown. */
  findBand(track: number): { readonly band: TrackBand; readonly shift: number } | undefined;
}

export interface EventPosition {
  readonly track: number;
  readonly lane: number;
  readonly start: number;
  readonly duration: number;
}

/** From what brought something about to what it brought about. */
export interface FlowArrow {
  readonly from: ArrowEnd;
  readonly to: ArrowEnd;
  /** It is one of the chosen event. */
  readonly isSelected: boolean;
}

export interface ArrowEnd {
  readonly track: number;
  readonly lane: number;
  readonly ps: number;
}

export interface TimelineOverlay {
  readonly hovered: EventPosition | null;
  readonly selected: EventPosition | null;
  readonly selection: TimeSpan | null;
  /** A line under the pointer. */
  readonly cursorPs: number | null;
  readonly arrows: readonly FlowArrow[];
  readonly colors: { readonly accent: string; readonly crosshair: string; readonly text: string };
}

const ARROW_HEAD_PX = 5;

export const timeToX = ({ span, width }: TimelineGeometry, ps: number): number =>
  ((ps - span.start) / (span.end - span.start)) * width;

/** Draws what changes while the picture below stays: lines, frames and arrows. */
export function drawOverlay(
  context: CanvasRenderingContext2D,
  places: TimelineGeometry,
  overlay: TimelineOverlay,
): void {
  context.clearRect(0, 0, places.width, places.height);
  const { accent, crosshair, text } = overlay.colors;
  if (overlay.selection) drawSelection(context, places, overlay.selection, accent);
  drawArrows(context, places, overlay.arrows, accent, text);
  if (overlay.cursorPs !== null) {
    context.fillStyle = crosshair;
    context.fillRect(Math.round(timeToX(places, overlay.cursorPs)), 0, 1, places.height);
  }
  if (overlay.hovered) drawEventFrame(context, getEventBox(places, overlay.hovered), text, 1);
  if (overlay.selected) drawEventFrame(context, getEventBox(places, overlay.selected), accent, 2);
}

/** Where an event is on the screen; null where its track is not shown. */
export function getEventBox(places: TimelineGeometry, event: EventPosition): ScreenBox | null {
  const found = places.findBand(event.track);
  if (!found) return null;
  const { band, shift } = found;
  const left = Math.max(-4, timeToX(places, event.start));
  const right = Math.min(places.width + 4, timeToX(places, event.start + event.duration));
  const top = getLaneTop(band, event.lane) + shift;
  return { left, top, width: Math.max(2, right - left), height: Math.max(2, band.laneHeight - 1) };
}

function drawEventFrame(
  context: CanvasRenderingContext2D,
  box: ScreenBox | null,
  colour: string,
  width: number,
): void {
  if (!box) return;
  context.strokeStyle = colour;
  context.lineWidth = width;
  const out = width / 2;
  context.beginPath();
  context.roundRect(
    Math.round(box.left) - out + 0.5,
    Math.round(box.top) - out + 0.5,
    Math.max(1, Math.round(box.width) + width - 2),
    Math.round(box.height) + width - 1,
    2.5,
  );
  context.stroke();
}

function drawSelection(
  context: CanvasRenderingContext2D,
  places: TimelineGeometry,
  { start, end }: TimeSpan,
  accent: string,
): void {
  const [left, right] = [timeToX(places, start), timeToX(places, end)];
  context.fillStyle = accent;
  context.globalAlpha = 0.12;
  context.fillRect(left, 0, right - left, places.height);
  context.globalAlpha = 1;
  for (const x of [left, right]) context.fillRect(Math.round(x) - 0.5, 0, 1, places.height);
}

/** Those of the chosen event stand out; the others are there to show the drift of all. */
function drawArrows(
  context: CanvasRenderingContext2D,
  places: TimelineGeometry,
  arrows: readonly FlowArrow[],
  accent: string,
  text: string,
): void {
  const faint = Math.max(0.08, 0.4 / Math.sqrt(arrows.length / 20 + 1));
  context.lineWidth = 1;
  for (const isMine of [false, true]) {
    context.strokeStyle = context.fillStyle = isMine ? accent : text;
    context.globalAlpha = isMine ? 1 : faint;
    for (const arrow of arrows) if (arrow.isSelected === isMine) drawArrow(context, places, arrow);
  }
  context.globalAlpha = 1;
}

function drawArrow(
  context: CanvasRenderingContext2D,
  places: TimelineGeometry,
  arrow: FlowArrow,
): void {
  const [from, to] = [getArrowPoint(places, arrow.from), getArrowPoint(places, arrow.to)];
  if (!from || !to) return;
  const bend = Math.min(60, Math.max(12, Math.abs(to.x - from.x) / 2));
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
  context.stroke();
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - ARROW_HEAD_PX, to.y - ARROW_HEAD_PX / 2);
  context.lineTo(to.x - ARROW_HEAD_PX, to.y + ARROW_HEAD_PX / 2);
  context.fill();
}

function getArrowPoint(
  places: TimelineGeometry,
  { track, lane, ps }: ArrowEnd,
): { readonly x: number; readonly y: number } | null {
  const found = places.findBand(track);
  if (!found) return null;
  const y = getLaneTop(found.band, lane) + found.shift + found.band.laneHeight / 2;
  return { x: timeToX(places, ps), y };
}
