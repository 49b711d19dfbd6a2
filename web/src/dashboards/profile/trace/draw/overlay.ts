import { type Band, topOf } from '../view/layout';
import type { Span } from '../view/span';

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Where things are on the screen. */
export interface Places {
  readonly width: number;
  readonly height: number;
  readonly span: Span;
  /** The band of a track and by how much it is moved; undefined where it is not shown. */
  bandOf(track: number): { readonly band: Band; readonly shift: number } | undefined;
}

export interface Marked {
  readonly track: number;
  readonly lane: number;
  readonly start: number;
  readonly duration: number;
}

/** From what brought something about to what it brought about. */
export interface Arrow {
  readonly from: ArrowEnd;
  readonly to: ArrowEnd;
  /** It is one of the chosen event. */
  readonly isMine: boolean;
}

export interface ArrowEnd {
  readonly track: number;
  readonly lane: number;
  readonly ps: number;
}

export interface Overlay {
  readonly hovered: Marked | null;
  readonly chosen: Marked | null;
  readonly selection: Span | null;
  /** A line under the pointer. */
  readonly rule: number | null;
  readonly arrows: readonly Arrow[];
  readonly colours: { readonly accent: string; readonly rule: string; readonly text: string };
}

const ARROW = 5;

export const xOf = ({ span, width }: Places, ps: number): number =>
  ((ps - span.start) / (span.end - span.start)) * width;

/** Draws what changes while the picture below stays: lines, frames and arrows. */
export function drawOverlay(
  context: CanvasRenderingContext2D,
  places: Places,
  overlay: Overlay,
): void {
  context.clearRect(0, 0, places.width, places.height);
  const { accent, rule, text } = overlay.colours;
  if (overlay.selection) shadeSelection(context, places, overlay.selection, accent);
  drawArrows(context, places, overlay.arrows, accent, text);
  if (overlay.rule !== null) {
    context.fillStyle = rule;
    context.fillRect(Math.round(xOf(places, overlay.rule)), 0, 1, places.height);
  }
  if (overlay.hovered) frame(context, boxOf(places, overlay.hovered), text, 1);
  if (overlay.chosen) frame(context, boxOf(places, overlay.chosen), accent, 2);
}

/** Where an event is on the screen; null where its track is not shown. */
export function boxOf(places: Places, event: Marked): Box | null {
  const found = places.bandOf(event.track);
  if (!found) return null;
  const { band, shift } = found;
  const left = Math.max(-4, xOf(places, event.start));
  const right = Math.min(places.width + 4, xOf(places, event.start + event.duration));
  const top = topOf(band, event.lane) + shift;
  return { left, top, width: Math.max(2, right - left), height: Math.max(2, band.lane - 1) };
}

function frame(
  context: CanvasRenderingContext2D,
  box: Box | null,
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

function shadeSelection(
  context: CanvasRenderingContext2D,
  places: Places,
  { start, end }: Span,
  accent: string,
): void {
  const [left, right] = [xOf(places, start), xOf(places, end)];
  context.fillStyle = accent;
  context.globalAlpha = 0.12;
  context.fillRect(left, 0, right - left, places.height);
  context.globalAlpha = 1;
  for (const x of [left, right]) context.fillRect(Math.round(x) - 0.5, 0, 1, places.height);
}

/** Those of the chosen event stand out; the others are there to show the drift of all. */
function drawArrows(
  context: CanvasRenderingContext2D,
  places: Places,
  arrows: readonly Arrow[],
  accent: string,
  text: string,
): void {
  const faint = Math.max(0.08, 0.4 / Math.sqrt(arrows.length / 20 + 1));
  context.lineWidth = 1;
  for (const isMine of [false, true]) {
    context.strokeStyle = context.fillStyle = isMine ? accent : text;
    context.globalAlpha = isMine ? 1 : faint;
    for (const arrow of arrows) if (arrow.isMine === isMine) drawArrow(context, places, arrow);
  }
  context.globalAlpha = 1;
}

function drawArrow(context: CanvasRenderingContext2D, places: Places, arrow: Arrow): void {
  const [from, to] = [endOf(places, arrow.from), endOf(places, arrow.to)];
  if (!from || !to) return;
  const bend = Math.min(60, Math.max(12, Math.abs(to.x - from.x) / 2));
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
  context.stroke();
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - ARROW, to.y - ARROW / 2);
  context.lineTo(to.x - ARROW, to.y + ARROW / 2);
  context.fill();
}

function endOf(
  places: Places,
  { track, lane, ps }: ArrowEnd,
): { readonly x: number; readonly y: number } | null {
  const found = places.bandOf(track);
  if (!found) return null;
  const y = topOf(found.band, lane) + found.shift + found.band.lane / 2;
  return { x: xOf(places, ps), y };
}
