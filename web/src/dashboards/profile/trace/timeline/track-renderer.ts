import { FONT_FAMILY } from '../../../../charts/renderer/renderer';
import type { StepColumns } from '../../schemas';
import {
  type BarPalette,
  BarRaster,
  type EventHighlight,
  type LabelSlot,
  type LaneStyle,
} from './bar-renderer';
import { getTileLevel, type TileCache, type TrackTile } from './tile-cache';
import { getSpanLength, type TimeSpan } from './time-axis';
import { getLaneTop, LANE_HEIGHT_PX, type TrackBand, type TrackLayout } from './track-layout';

/** Lets a canvas have as many pixels as the screen has where it is; returns how many to a pixel of the page. */
export function resizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): number {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  return ratio;
}

const LABEL_SIZE_PX = 11;
const LABEL_INSET_PX = 5;
const MIN_LABEL_CHARS = 3;

/** Words on bars; how wide each is, is measured once. */
export class LabelRenderer {
  readonly #widths = new Map<string, number>();

  /** Writes on those of the bars that have names, cut to what there is room for. */
  draw(
    context: CanvasRenderingContext2D,
    wides: readonly LabelSlot[],
    words: ReadonlyMap<number, string>,
    colour: string,
    ratio: number,
  ): void {
    context.font = `${LABEL_SIZE_PX * ratio}px ${FONT_FAMILY}`;
    context.textBaseline = 'middle';
    context.fillStyle = colour;
    for (const { name, left, right, top, height } of wides) {
      const word = words.get(name);
      if (word === undefined) continue;
      const room = right - left - 2 * LABEL_INSET_PX * ratio;
      const text = this.#cut(context, word, room, ratio);
      if (text) context.fillText(text, left + LABEL_INSET_PX * ratio, top + height / 2 + ratio / 2);
    }
  }

  #cut(context: CanvasRenderingContext2D, word: string, room: number, ratio: number): string {
    const width = this.#widthOf(context, word, ratio);
    if (width <= room) return word;
    const letters = Math.floor((word.length * room) / width) - 1;
    return letters < MIN_LABEL_CHARS ? '' : `${word.slice(0, letters)}…`;
  }

  #widthOf(context: CanvasRenderingContext2D, word: string, ratio: number): number {
    const key = `${ratio} ${word}`;
    let width = this.#widths.get(key);
    if (width === undefined) {
      width = context.measureText(word).width;
      this.#widths.set(key, width);
    }
    return width;
  }
}

/** Words take a bar of so many pixels of the page. */
const MIN_LABEL_PX = 26;

/** What is to be drawn of one capture. */
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

/** Draws tracks on a canvas. */
export class TrackRenderer {
  readonly #lettering = new LabelRenderer();
  #bars: BarRaster | null = null;

  draw(canvas: HTMLCanvasElement, ratio: number, scene: TimelineScene): void {
    const context = canvas.getContext('2d');
    if (!context) return;
    const bars = this.#barsFor(canvas);
    const { layout, palette } = scene;
    bars.fill(palette.background);
    drawStepStripes(bars, scene);
    const edge = Math.round(layout.pinnedHeight * ratio);
    const rest = drawBands(
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
    const pinned = drawBands(bars, layout.pinned, 0, 0, ratio, scene);
    context.putImageData(bars.image, 0, 0);
    this.#write(context, rest, scene, ratio, edge);
    this.#write(context, pinned, scene, ratio, 0);
  }

  #barsFor({ width, height }: HTMLCanvasElement): BarRaster {
    if (this.#bars?.width !== width || this.#bars.height !== height)
      this.#bars = new BarRaster(width, height);
    return this.#bars;
  }

  #write(
    context: CanvasRenderingContext2D,
    wides: readonly LabelSlot[],
    scene: TimelineScene,
    ratio: number,
    edge: number,
  ): void {
    context.save();
    context.beginPath();
    context.rect(0, edge, context.canvas.width, context.canvas.height);
    context.clip();
    this.#lettering.draw(context, wides, scene.tiles.names, scene.textColor, ratio);
    context.restore();
  }
}

/** Every other step has a stripe behind it, as long as steps can be told apart. */
function drawStepStripes(
  bars: BarRaster,
  { steps, span, palette }: TimelineScene,
  bottom = bars.height,
): void {
  const scale = bars.width / getSpanLength(span);
  const place = (ps: number): number => Math.round((ps - span.start) * scale);
  const length = (steps.end.at(-1) ?? 0) - (steps.start[0] ?? 0);
  if (steps.names.length < 2 || (length / steps.names.length) * scale < 6) return;
  for (let at = 0; at < steps.names.length; at += 2)
    bars.fillRect(
      place(steps.start[at] ?? 0),
      place(steps.end[at] ?? 0),
      palette.stripe,
      0,
      bottom,
    );
}

/** Draws the bands that are seen; returns what words can be written on. */
function drawBands(
  bars: BarRaster,
  bands: readonly TrackBand[],
  shift: number,
  edge: number,
  ratio: number,
  scene: TimelineScene,
): LabelSlot[] {
  const wides: LabelSlot[] = [];
  const level = getTileLevel(getSpanLength(scene.span) / bars.width);
  for (const band of bands) {
    const top = Math.round((band.top + shift) * ratio);
    const bottom = Math.round((band.top + shift + band.height) * ratio);
    if (bottom <= edge || top >= bars.height) continue;
    const parts = scene.tiles.getTiles(level, scene.span, band.track.id);
    drawBand(bars, band, parts, shift, edge, ratio, scene, wides);
    bars.fillRect(0, bars.width, scene.palette.stripe, Math.max(bottom - 1, edge), bottom);
  }
  return wides;
}

function drawBand(
  bars: BarRaster,
  band: TrackBand,
  parts: readonly TrackTile[],
  shift: number,
  edge: number,
  ratio: number,
  { span, palette, highlight, colorByTrack }: TimelineScene,
  wides: LabelSlot[],
): void {
  const hue = colorByTrack ? band.track.id : null;
  const wide = band.laneHeight < LANE_HEIGHT_PX ? Infinity : MIN_LABEL_PX * ratio;
  const brush: LaneStyle = { palette, span, highlight, hue, minLabelPx: wide };
  const gap = band.laneHeight > 4 ? 1 : 0;
  for (let lane = 0; lane < band.laneCount; lane++) {
    const top = Math.round((getLaneTop(band, lane) + shift) * ratio);
    const bottom = Math.round((getLaneTop(band, lane) + shift + band.laneHeight - gap) * ratio);
    if (bottom > edge && top < bars.height)
      bars.drawLane(parts, lane, [top, bottom], edge, brush, wides);
  }
}
