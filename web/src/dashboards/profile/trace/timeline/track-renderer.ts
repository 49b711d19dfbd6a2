import { makeFont } from '../../../../charts/renderer/renderer';
import type { StepColumns } from '../../../../api/schemas';
import {
  type BarPalette,
  BarRaster,
  type EventHighlight,
  type LabelSlot,
  type LaneStyle,
} from './bar-renderer';
import type { BoxPx } from '../trace-model.svelte';
import { getTileLevel, type TileCache, type TrackTile } from './tile-cache';
import {
  getLaneTop,
  getSpanLength,
  LANE_HEIGHT_PX,
  type TimeSpan,
  type TrackBand,
  type TrackLayout,
} from './timeline-layout';

/** Give a canvas the resolution of the screen; returns the device pixel ratio. */
export function resizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): number {
  const ratio = devicePixelRatio || 1;
  const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixelWidth) canvas.width = pixelWidth;
  if (canvas.height !== pixelHeight) canvas.height = pixelHeight;
  return ratio;
}

// ---- Tracks

const LABEL_SIZE_PX = 11;
const LABEL_INSET_PX = 5;
const MIN_LABEL_CHARS = 3;

/** Draws labels on bars; the width of each text is measured once. */
class LabelRenderer {
  readonly #widths = new Map<string, number>();

  /** Draw the names of bars, truncated to their width. */
  draw(
    context: CanvasRenderingContext2D,
    slots: readonly LabelSlot[],
    names: ReadonlyMap<number, string>,
    color: string,
    ratio: number,
  ): void {
    context.font = makeFont({ size: LABEL_SIZE_PX * ratio });
    context.textBaseline = 'middle';
    context.fillStyle = color;
    for (const { name, left, right, top, height } of slots) {
      const fullText = names.get(name);
      if (fullText === undefined) continue;
      const maxWidth = right - left - 2 * LABEL_INSET_PX * ratio;
      const text = this.#truncate(context, fullText, maxWidth, ratio);
      if (text) context.fillText(text, left + LABEL_INSET_PX * ratio, top + height / 2 + ratio / 2);
    }
  }

  #truncate(
    context: CanvasRenderingContext2D,
    text: string,
    maxWidth: number,
    ratio: number,
  ): string {
    const width = this.#measure(context, text, ratio);
    if (width <= maxWidth) return text;
    const length = Math.floor((text.length * maxWidth) / width) - 1;
    return length < MIN_LABEL_CHARS ? '' : `${text.slice(0, length)}…`;
  }

  #measure(context: CanvasRenderingContext2D, text: string, ratio: number): number {
    const key = `${ratio} ${text}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      width = context.measureText(text).width;
      this.#widths.set(key, width);
    }
    return width;
  }
}

/** Narrower bars have no label. */
const MIN_LABEL_PX = 26;

/** What is drawn of one capture. */
export interface TimelineScene {
  readonly layout: TrackLayout;
  readonly scroll: number;
  readonly span: TimeSpan;
  readonly steps: StepColumns;
  readonly tiles: TileCache;
  readonly highlight: EventHighlight | null;
  readonly colorByTrack: boolean;
  readonly palette: BarPalette;
  readonly textColor: string;
}

export class TrackRenderer {
  readonly #labels = new LabelRenderer();
  #raster: BarRaster | null = null;

  draw(canvas: HTMLCanvasElement, ratio: number, scene: TimelineScene): void {
    const context = canvas.getContext('2d');
    if (!context) return;
    const bars = this.#getRaster(canvas);
    const { layout, palette } = scene;
    bars.fill(palette.background);
    drawStepStripes(bars, scene);
    const edge = Math.round(layout.pinnedHeight * ratio);
    const labels = drawBands(
      bars,
      layout.unpinned,
      layout.pinnedHeight - scene.scroll,
      edge,
      ratio,
      scene,
    );
    if (edge > 0) {
      bars.fill(palette.background, 0, edge);
      drawStepStripes(bars, scene, edge);
    }
    const pinnedLabels = drawBands(bars, layout.pinned, 0, 0, ratio, scene);
    context.putImageData(bars.image, 0, 0);
    this.#drawLabels(context, labels, scene, ratio, edge);
    this.#drawLabels(context, pinnedLabels, scene, ratio, 0);
  }

  #getRaster({ width, height }: HTMLCanvasElement): BarRaster {
    if (this.#raster?.width !== width || this.#raster.height !== height)
      this.#raster = new BarRaster(width, height);
    return this.#raster;
  }

  #drawLabels(
    context: CanvasRenderingContext2D,
    slots: readonly LabelSlot[],
    scene: TimelineScene,
    ratio: number,
    edge: number,
  ): void {
    context.save();
    context.beginPath();
    context.rect(0, edge, context.canvas.width, context.canvas.height);
    context.clip();
    this.#labels.draw(context, slots, scene.tiles.names, scene.textColor, ratio);
    context.restore();
  }
}

/** Draw a stripe behind every other step, unless steps are too narrow. */
function drawStepStripes(
  bars: BarRaster,
  { steps, span, palette }: TimelineScene,
  bottom = bars.height,
): void {
  const scale = bars.width / getSpanLength(span);
  const getX = (ps: number): number => Math.round((ps - span.start) * scale);
  const length = (steps.end_ps.at(-1) ?? 0) - (steps.start_ps[0] ?? 0);
  if (steps.names.length < 2 || (length / steps.names.length) * scale < 6) return;
  for (let step = 0; step < steps.names.length; step += 2)
    bars.fillRect(
      getX(steps.start_ps[step] ?? 0),
      getX(steps.end_ps[step] ?? 0),
      palette.stripe,
      0,
      bottom,
    );
}

/** Draw the visible bands; returns the bars that are wide enough for a label. */
function drawBands(
  bars: BarRaster,
  bands: readonly TrackBand[],
  shift: number,
  edge: number,
  ratio: number,
  scene: TimelineScene,
): LabelSlot[] {
  const slots: LabelSlot[] = [];
  const level = getTileLevel(getSpanLength(scene.span) / bars.width);
  for (const band of bands) {
    const top = Math.round((band.top + shift) * ratio);
    const bottom = Math.round((band.top + shift + band.height) * ratio);
    if (bottom <= edge || top >= bars.height) continue;
    const tiles = scene.tiles.getTiles(level, scene.span, band.track.id);
    drawBand(bars, band, tiles, shift, edge, ratio, scene, slots);
    bars.fillRect(0, bars.width, scene.palette.stripe, Math.max(bottom - 1, edge), bottom);
  }
  return slots;
}

function drawBand(
  bars: BarRaster,
  band: TrackBand,
  tiles: readonly TrackTile[],
  shift: number,
  edge: number,
  ratio: number,
  { span, palette, highlight, colorByTrack }: TimelineScene,
  slots: LabelSlot[],
): void {
  const hue = colorByTrack ? band.track.id : null;
  const minLabelPx = band.laneHeight < LANE_HEIGHT_PX ? Infinity : MIN_LABEL_PX * ratio;
  const style: LaneStyle = { palette, span, highlight, hue, minLabelPx };
  const gap = band.laneHeight > 4 ? 1 : 0;
  for (let lane = 0; lane < band.laneCount; lane++) {
    const top = Math.round((getLaneTop(band, lane) + shift) * ratio);
    const bottom = Math.round((getLaneTop(band, lane) + shift + band.laneHeight - gap) * ratio);
    if (bottom > edge && top < bars.height)
      bars.drawLane(tiles, lane, [top, bottom], edge, style, slots);
  }
}

// ---- Overlay

/** Converts times and tracks to positions on the screen. */
export interface TimelineGeometry {
  readonly width: number;
  readonly height: number;
  readonly span: TimeSpan;
  /** Other tracks scroll below the pinned ones. */
  readonly pinnedHeight: number;
  /** Return the band of a track and its offset; undefined if it is not shown. */
  findBand(track: number): { readonly band: TrackBand; readonly shift: number } | undefined;
}

export interface EventPosition {
  readonly track: number;
  readonly lane: number;
  readonly start: number;
  readonly duration: number;
}

/** An arrow from an event to one that it launched. */
export interface FlowArrow {
  readonly from: ArrowEnd;
  readonly to: ArrowEnd;
  /** Whether it starts or ends at the selected event. */
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
  /** Several selected events. */
  readonly marks: Iterable<EventPosition>;
  /** Rows of a query that are no events. */
  readonly markedSpans: readonly TimeSpan[];
  /** The rectangle that is being dragged. */
  readonly box: BoxPx | null;
  /** The time under the pointer. */
  readonly cursorPs: number | null;
  readonly arrows: readonly FlowArrow[];
  readonly colors: { readonly accent: string; readonly crosshair: string; readonly text: string };
}

const ARROW_HEAD_PX = 5;

const timeToX = ({ span, width }: TimelineGeometry, ps: number): number =>
  ((ps - span.start) / (span.end - span.start)) * width;

/** Draw what changes while the tracks stay: cursor, selection, frames and arrows. */
export function drawOverlay(
  context: CanvasRenderingContext2D,
  geometry: TimelineGeometry,
  overlay: TimelineOverlay,
): void {
  context.clearRect(0, 0, geometry.width, geometry.height);
  const { accent, crosshair, text } = overlay.colors;
  if (overlay.selection) drawSelection(context, geometry, overlay.selection, accent);
  for (const span of overlay.markedSpans) drawMarkedSpan(context, geometry, span, accent);
  drawMarks(context, geometry, overlay.marks, accent);
  if (overlay.box) drawBox(context, overlay.box, accent);
  drawArrows(context, geometry, overlay.arrows, accent, text);
  if (overlay.cursorPs !== null) {
    context.fillStyle = crosshair;
    context.fillRect(Math.round(timeToX(geometry, overlay.cursorPs)), 0, 1, geometry.height);
  }
  if (overlay.hovered) drawEventFrame(context, getEventBox(geometry, overlay.hovered), text, 1);
  if (overlay.selected) drawEventFrame(context, getEventBox(geometry, overlay.selected), accent, 2);
}

/** Return the position of an event; null if its track is not shown. */
function getEventBox(geometry: TimelineGeometry, event: EventPosition): BoxPx | null {
  const found = geometry.findBand(event.track);
  if (!found) return null;
  const { band, shift } = found;
  const left = Math.max(-4, timeToX(geometry, event.start));
  const right = Math.min(geometry.width + 4, timeToX(geometry, event.start + event.duration));
  const top = getLaneTop(band, event.lane) + shift;
  if (!band.isPinned && top < geometry.pinnedHeight) return null;
  return { left, top, width: Math.max(2, right - left), height: Math.max(2, band.laneHeight - 1) };
}

function drawEventFrame(
  context: CanvasRenderingContext2D,
  box: BoxPx | null,
  color: string,
  width: number,
): void {
  if (!box) return;
  context.strokeStyle = color;
  context.lineWidth = width;
  const outset = width / 2;
  context.beginPath();
  context.roundRect(
    Math.round(box.left) - outset + 0.5,
    Math.round(box.top) - outset + 0.5,
    Math.max(1, Math.round(box.width) + width - 2),
    Math.round(box.height) + width - 1,
    2.5,
  );
  context.stroke();
}

function drawSelection(
  context: CanvasRenderingContext2D,
  geometry: TimelineGeometry,
  { start, end }: TimeSpan,
  accent: string,
): void {
  const [left, right] = [timeToX(geometry, start), timeToX(geometry, end)];
  context.fillStyle = accent;
  context.globalAlpha = 0.12;
  context.fillRect(left, 0, right - left, geometry.height);
  context.globalAlpha = 1;
  for (const x of [left, right]) context.fillRect(Math.round(x) - 0.5, 0, 1, geometry.height);
}

const MARK_ALPHA = 0.45;
const MARK_EDGE_PX = 3;

/** Draw marks on events. Of those in the same pixels of a lane, one is drawn. */
function drawMarks(
  context: CanvasRenderingContext2D,
  geometry: TimelineGeometry,
  marks: Iterable<EventPosition>,
  accent: string,
): void {
  context.fillStyle = accent;
  const drawnTo = new Map<string, number>();
  for (const mark of marks) {
    const box = getEventBox(geometry, mark);
    if (!box || box.left > geometry.width || box.left + box.width < 0) continue;
    const key = `${mark.track} ${mark.lane}`;
    if (box.left + box.width < (drawnTo.get(key) ?? -Infinity) + 1) continue;
    drawnTo.set(key, box.left + box.width);
    context.globalAlpha = MARK_ALPHA;
    context.fillRect(box.left, box.top, box.width, box.height);
    context.globalAlpha = 1;
    const edge = Math.min(MARK_EDGE_PX, box.height / 4);
    context.fillRect(box.left, box.top + box.height - edge, box.width, edge);
  }
}

function drawMarkedSpan(
  context: CanvasRenderingContext2D,
  geometry: TimelineGeometry,
  { start, end }: TimeSpan,
  accent: string,
): void {
  const left = timeToX(geometry, start);
  const width = Math.max(2, timeToX(geometry, end) - left);
  context.fillStyle = accent;
  context.globalAlpha = 0.1;
  context.fillRect(left, 0, width, geometry.height);
  context.globalAlpha = 1;
  context.fillRect(left, 0, width, MARK_EDGE_PX);
}

function drawBox(context: CanvasRenderingContext2D, box: BoxPx, accent: string): void {
  const { left, top, width, height } = box;
  context.fillStyle = context.strokeStyle = accent;
  context.lineWidth = 1;
  context.globalAlpha = 0.12;
  context.fillRect(left, top, width, height);
  context.globalAlpha = 1;
  context.strokeRect(Math.round(left) + 0.5, Math.round(top) + 0.5, width, height);
}

/** Draw arrows; those of other events than the selected one are faint. */
function drawArrows(
  context: CanvasRenderingContext2D,
  geometry: TimelineGeometry,
  arrows: readonly FlowArrow[],
  accent: string,
  text: string,
): void {
  const faintAlpha = Math.max(0.08, 0.4 / Math.sqrt(arrows.length / 20 + 1));
  context.lineWidth = 1;
  for (const isSelected of [false, true]) {
    context.strokeStyle = context.fillStyle = isSelected ? accent : text;
    context.globalAlpha = isSelected ? 1 : faintAlpha;
    for (const arrow of arrows)
      if (arrow.isSelected === isSelected) drawArrow(context, geometry, arrow);
  }
  context.globalAlpha = 1;
}

function drawArrow(
  context: CanvasRenderingContext2D,
  geometry: TimelineGeometry,
  arrow: FlowArrow,
): void {
  const [from, to] = [getArrowPoint(geometry, arrow.from), getArrowPoint(geometry, arrow.to)];
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
  geometry: TimelineGeometry,
  { track, lane, ps }: ArrowEnd,
): { readonly x: number; readonly y: number } | null {
  const found = geometry.findBand(track);
  if (!found) return null;
  const y = getLaneTop(found.band, lane) + found.shift + found.band.laneHeight / 2;
  return { x: timeToX(geometry, ps), y };
}
