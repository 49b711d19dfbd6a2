import type { StepsColumns } from '../data/answers';
import type { Part } from '../tiles/part';
import { levelOf, type TileStore } from '../tiles/store';
import { type Band, type Layout, LANE, topOf } from '../view/layout';
import { lengthOf, type Span } from '../view/span';
import { Bars, type Brush, type Wide } from './bars';
import { Lettering } from './lettering';
import type { Light } from './light';
import type { Shades } from './shades';

/** Words take a bar of so many pixels of the page. */
const WIDE = 26;

/** What is to be drawn of one capture. */
export interface Scene {
  readonly layout: Layout;
  readonly scroll: number;
  readonly span: Span;
  readonly steps: StepsColumns;
  readonly store: TileStore;
  readonly lit: Light | null;
  readonly byTrack: boolean;
  readonly shades: Shades;
  readonly ink: string;
}

/** Draws tracks on a canvas. */
export class Picture {
  readonly #lettering = new Lettering();
  #bars: Bars | null = null;

  draw(canvas: HTMLCanvasElement, ratio: number, scene: Scene): void {
    const context = canvas.getContext('2d');
    if (!context) return;
    const bars = this.#barsFor(canvas);
    const { layout, shades } = scene;
    bars.fill(shades.paper);
    drawSteps(bars, scene);
    const edge = Math.round(layout.pinnedHeight * ratio);
    const rest = drawBands(
      bars,
      layout.rest,
      layout.pinnedHeight - scene.scroll,
      edge,
      ratio,
      scene,
    );
    if (edge > 0) {
      bars.fill(shades.paper, 0, edge);
      drawSteps(bars, scene, edge);
    }
    const pinned = drawBands(bars, layout.pinned, 0, 0, ratio, scene);
    context.putImageData(bars.image, 0, 0);
    this.#write(context, rest, scene, ratio, edge);
    this.#write(context, pinned, scene, ratio, 0);
  }

  #barsFor({ width, height }: HTMLCanvasElement): Bars {
    if (this.#bars?.width !== width || this.#bars.height !== height)
      this.#bars = new Bars(width, height);
    return this.#bars;
  }

  #write(
    context: CanvasRenderingContext2D,
    wides: readonly Wide[],
    scene: Scene,
    ratio: number,
    edge: number,
  ): void {
    context.save();
    context.beginPath();
    context.rect(0, edge, context.canvas.width, context.canvas.height);
    context.clip();
    this.#lettering.write(context, wides, scene.store.words, scene.ink, ratio);
    context.restore();
  }
}

/** Every other step has a stripe behind it, as long as steps can be told apart. */
function drawSteps(bars: Bars, { steps, span, shades }: Scene, bottom = bars.height): void {
  const scale = bars.width / lengthOf(span);
  const place = (ps: number): number => Math.round((ps - span.start) * scale);
  const length = (steps.end.at(-1) ?? 0) - (steps.start[0] ?? 0);
  if (steps.names.length < 2 || (length / steps.names.length) * scale < 6) return;
  for (let at = 0; at < steps.names.length; at += 2)
    bars.stripe(place(steps.start[at] ?? 0), place(steps.end[at] ?? 0), shades.stripe, 0, bottom);
}

/** Draws the bands that are seen; returns what words can be written on. */
function drawBands(
  bars: Bars,
  bands: readonly Band[],
  shift: number,
  edge: number,
  ratio: number,
  scene: Scene,
): Wide[] {
  const wides: Wide[] = [];
  const level = levelOf(lengthOf(scene.span) / bars.width);
  for (const band of bands) {
    const top = Math.round((band.top + shift) * ratio);
    const bottom = Math.round((band.top + shift + band.height) * ratio);
    if (bottom <= edge || top >= bars.height) continue;
    const parts = scene.store.find(level, scene.span, band.track.id);
    drawBand(bars, band, parts, shift, edge, ratio, scene, wides);
    bars.stripe(0, bars.width, scene.shades.stripe, Math.max(bottom - 1, edge), bottom);
  }
  return wides;
}

function drawBand(
  bars: Bars,
  band: Band,
  parts: readonly Part[],
  shift: number,
  edge: number,
  ratio: number,
  { span, shades, lit, byTrack }: Scene,
  wides: Wide[],
): void {
  const hue = byTrack ? band.track.id : null;
  const wide = band.lane < LANE ? Infinity : WIDE * ratio;
  const brush: Brush = { shades, span, lit, hue, wide };
  const gap = band.lane > 4 ? 1 : 0;
  for (let lane = 0; lane < band.lanes; lane++) {
    const top = Math.round((topOf(band, lane) + shift) * ratio);
    const bottom = Math.round((topOf(band, lane) + shift + band.lane - gap) * ratio);
    if (bottom > edge && top < bars.height)
      bars.lane(parts, lane, [top, bottom], edge, brush, wides);
  }
}
