import { getSequentialRamp } from '../../lib/colors';
import { alignToPixel } from '../axes/axis-renderer';
import { LABEL_GAP_PX, LABEL_SIZE_PX } from '../axes/plot-layout';
import { type ChartTheme, LIGHT_THEME } from '../renderer/chart-theme';
import { renderPng, renderSvg } from '../renderer/image-export';
import {
  expandRect,
  makePath,
  measureText,
  type Raster,
  type Rect,
  type Renderer,
} from '../renderer/renderer';
import type { NumberRange } from '../types';
import {
  type ChannelWaveform,
  makeFrequencyScale,
  makeFrequencyTicks,
  type Spectrogram,
  type Waveform,
} from './audio-data';
import { type AudioLayout, type AudioLayoutOptions, layoutAudio } from './audio-layout';

/** Between the lowest and the highest sample; how loud it is stands out of it. */
const PEAK_OPACITY = 0.45;
/** Samples that are at least so many pixels apart are dots. */
const MIN_DOT_SPACING_PX = 7;
/** A line as thin as silence is still to be seen. */
const MIN_WAVEFORM_HEIGHT_PX = 1;
/** In a lower box the numbers at its ends would touch what is between them. */
const MIN_HEIGHT_FOR_LIMITS_PX = 44;

/** How far samples swing; `maxAmplitude` is what reaches the edge of a box. */
export function drawWaveforms(
  pen: Renderer,
  layout: AudioLayout,
  waveform: Waveform,
  look: Pick<AudioChartContent, 'color' | 'maxAmplitude'>,
  palette: ChartTheme,
): void {
  waveform.channels.forEach((channel, at) => {
    const box = layout.waveforms[at];
    if (!box) return;
    drawWaveformAxis(
      pen,
      box,
      getChannelLabel(at, waveform.channels.length),
      look.maxAmplitude,
      palette,
    );
    const isWhole = channel.low.length === waveform.stop - waveform.start;
    const draw = isWhole ? drawSamples : drawEnvelope;
    pen.clip(box, () => draw(pen, layout, box, waveform, channel, look));
  });
}

/** The largest swing there is, or 1 for what keeps within the range of a file. */
export function findPeakAmplitude({ channels }: Waveform): number {
  let most = 0;
  for (const { low, high } of channels)
    for (let at = 0; at < low.length; at++) most = Math.max(most, -(low[at] || 0), high[at] || 0);
  return most;
}

/** The line of silence, and beside it how far the box reaches or which channel it is. */
function drawWaveformAxis(
  pen: Renderer,
  box: Rect,
  name: string,
  most: number,
  palette: ChartTheme,
): void {
  const middle = alignToPixel(box.top + box.height / 2);
  const right = box.left + box.width;
  pen.stroke(makePath(box.left, middle, right, middle), { color: palette.grid, width: 1 });
  const style = { color: palette.label, size: LABEL_SIZE_PX, align: 'right' } as const;
  const x = box.left - LABEL_GAP_PX;
  pen.text(name || '0', x, middle, { ...style, baseline: 'middle' });
  if (box.height < MIN_HEIGHT_FOR_LIMITS_PX) return;
  const text = String(Number(most.toPrecision(2)));
  pen.text(text, x, box.top + 2, { ...style, baseline: 'top' });
  pen.text(`−${text}`, x, box.top + box.height - 1, { ...style, baseline: 'bottom' });
}

function getChannelLabel(at: number, count: number): string {
  if (count < 2) return '';
  return count === 2 ? (['L', 'R'][at] ?? '') : String(at + 1);
}

type DrawChannel = (
  pen: Renderer,
  layout: AudioLayout,
  box: Rect,
  waveform: Waveform,
  channel: ChannelWaveform,
  look: Pick<AudioChartContent, 'color' | 'maxAmplitude'>,
) => void;

const drawEnvelope: DrawChannel = (
  pen,
  layout,
  box,
  waveform,
  channel,
  { color, maxAmplitude },
) => {
  const count = channel.low.length;
  const x = new Float32Array(count);
  const low = new Float32Array(count);
  const high = new Float32Array(count);
  const loud = { low: new Float32Array(count), high: new Float32Array(count) };
  const { middle, y } = makeAmplitudeScale(box, maxAmplitude);
  for (let at = 0; at < count; at++) {
    const [least, greatest] = [channel.low[at] ?? NaN, channel.high[at] ?? NaN];
    x[at] = layout.x.scale.toPixel(getColumnSeconds(waveform, at + 0.5, count));
    const thin = Math.max(0, MIN_WAVEFORM_HEIGHT_PX - (y(least) - y(greatest))) / 2;
    low[at] = y(least) + thin;
    high[at] = y(greatest) - thin;
    // What is loud on one side only must not leave the other.
    const rms = channel.rms[at] ?? NaN;
    loud.low[at] = Math.min(low[at] ?? NaN, middle + (middle - y(rms)));
    loud.high[at] = Math.max(high[at] ?? NaN, y(rms));
  }
  pen.area({ x, low, high, length: count }, { color, opacity: PEAK_OPACITY });
  pen.area({ x, ...loud, length: count }, { color });
};

const drawSamples: DrawChannel = (pen, layout, box, waveform, channel, { color, maxAmplitude }) => {
  const count = channel.low.length;
  const points = new Float32Array(2 * count);
  const { y } = makeAmplitudeScale(box, maxAmplitude);
  for (let at = 0; at < count; at++) {
    const height = y(channel.low[at] ?? NaN);
    points[2 * at] = Number.isNaN(height)
      ? NaN
      : layout.x.scale.toPixel((waveform.start + at) / waveform.sampleRate);
    points[2 * at + 1] = height;
  }
  pen.stroke({ points, length: points.length }, { color, width: 1.5 });
  if (layout.plotArea.width / count < MIN_DOT_SPACING_PX) return;
  for (let at = 0; at < points.length; at += 2)
    if (!Number.isNaN(points[at])) pen.dot(points[at] ?? 0, points[at + 1] ?? 0, 2, { color });
};

function makeAmplitudeScale(box: Rect, most: number): { middle: number; y(value: number): number } {
  const middle = box.top + box.height / 2;
  const reach = (box.height / 2 - 1) / most;
  return { middle, y: (value) => middle - value * reach };
}

/** When a place along the columns is, in seconds from the start of the clip. */
function getColumnSeconds(
  { start, stop, sampleRate }: Waveform,
  column: number,
  count: number,
): number {
  return (start + ((stop - start) * column) / count) / sampleRate;
}

/** Labels on the side are so many pixels apart at least. */
const MIN_TICK_SPACING_PX = 16;

export function drawSpectrogram(
  pen: Renderer,
  layout: AudioLayout,
  spectrogram: Spectrogram,
  rangeDb: number,
  palette: ChartTheme,
): void {
  const box = layout.spectrogram;
  if (!box) return;
  const { start, stop, sampleRate } = spectrogram;
  const [left, right] = [start, stop].map((frame) => layout.x.scale.toPixel(frame / sampleRate));
  const place = { ...box, left: left ?? 0, width: (right ?? 0) - (left ?? 0) };
  pen.clip(box, () =>
    pen.image(getSpectrogramRaster(spectrogram, palette.background, rangeDb), place),
  );
  const style = { color: palette.label, size: LABEL_SIZE_PX, align: 'right' } as const;
  const { toPosition } = makeFrequencyScale(spectrogram);
  for (const { value, label } of makeFrequencyTicks(
    spectrogram,
    MIN_TICK_SPACING_PX / box.height,
  )) {
    const y = box.top + box.height * (1 - toPosition(value));
    const inside = Math.max(box.top + 5, Math.min(box.top + box.height - 5, y));
    pen.text(label, box.left - LABEL_GAP_PX, inside, { ...style, baseline: 'middle' });
  }
}

interface CachedRaster {
  readonly background: string;
  readonly rangeDb: number;
  readonly raster: Raster;
}

/** The last picture of each spectrogram: what was drawn stays the same while it is zoomed. */
const rasterCache = new WeakMap<Spectrogram, CachedRaster>();

function getSpectrogramRaster(spectrogram: Spectrogram, paper: string, rangeDb: number): Raster {
  const known = rasterCache.get(spectrogram);
  if (known && known.background === paper && known.rangeDb === rangeDb) return known.raster;
  const raster = renderSpectrogram(spectrogram, getSequentialRamp(paper), rangeDb);
  rasterCache.set(spectrogram, { background: paper, rangeDb, raster });
  return raster;
}

/** The pixels of a spectrogram: of `rangeDb` below the loudest that there can be all shades. */
export function renderSpectrogram(
  { width, height, levels, lowDb, highDb }: Spectrogram,
  shades: Uint8ClampedArray,
  rangeDb: number,
): Raster {
  const table = new Uint32Array(256);
  const colors = new Uint32Array(shades.buffer, shades.byteOffset, 256);
  for (let level = 0; level < 256; level++) {
    const share = (((level / 255) * (highDb - lowDb) + lowDb - (highDb - rangeDb)) / rangeDb) * 255;
    table[level] = colors[Math.max(0, Math.min(255, Math.round(share)))] ?? 0;
  }
  const pixels = new Uint32Array(width * height);
  for (let row = 0; row < height; row++) {
    // Pictures begin at the top, spectrograms with the lowest frequency.
    const from = (height - 1 - row) * width;
    for (let column = 0; column < width; column++)
      pixels[row * width + column] = table[levels[from + column] ?? 0] ?? 0;
  }
  return { width, height, pixels: new Uint8ClampedArray(pixels.buffer) };
}

/** What is seen of a clip until somebody zooms. */
export interface AudioChartContent {
  readonly layout: AudioLayout;
  readonly waveform: Waveform | null;
  readonly spectrogram: Spectrogram | null;
  readonly color: string;
  /** The swing that fills the height. */
  readonly maxAmplitude: number;
  /** From the loudest to what is no louder than paper. */
  readonly rangeDb: number;
}

/** What lies above it and moves. */
export interface AudioOverlay {
  /** Where it plays, in seconds. */
  readonly position: number | null;
  readonly loop: NumberRange | null;
  readonly hover: number | null;
}

export function drawAudioChart(
  pen: Renderer,
  picture: AudioChartContent,
  palette: ChartTheme,
): void {
  const { layout, waveform, spectrogram, rangeDb } = picture;
  if (waveform) drawWaveforms(pen, layout, waveform, picture, palette);
  if (spectrogram) drawSpectrogram(pen, layout, spectrogram, rangeDb, palette);
  drawTimeAxis(pen, layout, palette);
}

function drawTimeAxis(
  pen: Renderer,
  { plotArea, x, size }: AudioLayout,
  { axis, label }: ChartTheme,
): void {
  const foot = plotArea.top + plotArea.height;
  const line = alignToPixel(foot);
  pen.stroke(makePath(plotArea.left, line, plotArea.left + plotArea.width, line), {
    color: axis,
    width: 1,
  });
  const style = { color: label, size: LABEL_SIZE_PX, align: 'center', baseline: 'top' } as const;
  for (const { value, label: text } of x.ticks) {
    const half = pen.measureText(text, style) / 2;
    const at = Math.max(half, Math.min(size.width - half, x.scale.toPixel(value)));
    pen.text(text, at, foot + 4, style);
  }
}

export function drawAudioOverlay(
  pen: Renderer,
  layout: AudioLayout,
  { position, loop, hover }: AudioOverlay,
  palette: ChartTheme,
): void {
  pen.clip(expandRect(layout.plotArea, 3), () => {
    if (loop) drawLoop(pen, layout, loop, palette);
    if (hover !== null) drawTimeLine(pen, layout, hover, palette.crosshair, 1, [3, 3]);
    if (position !== null) drawPlayhead(pen, layout, position, palette);
  });
}

function drawLoop(
  pen: Renderer,
  layout: AudioLayout,
  loop: NumberRange,
  { accent }: ChartTheme,
): void {
  const [left, right] = [layout.x.scale.toPixel(loop[0]), layout.x.scale.toPixel(loop[1])];
  pen.rect({ ...layout.plotArea, left, width: right - left }, { color: accent, opacity: 0.12 });
  for (const end of loop) drawTimeLine(pen, layout, end, accent, 1);
}

function drawPlayhead(
  pen: Renderer,
  layout: AudioLayout,
  position: number,
  palette: ChartTheme,
): void {
  drawTimeLine(pen, layout, position, palette.text, 1.5);
  const [x, top] = [layout.x.scale.toPixel(position), layout.plotArea.top];
  pen.fill(makePath(x - 4, top - 1, x + 4, top - 1, x, top + 5), { color: palette.text });
}

function drawTimeLine(
  pen: Renderer,
  { x, plotArea }: AudioLayout,
  seconds: number,
  color: string,
  width: number,
  dash: readonly number[] = [],
): void {
  const at = alignToPixel(x.scale.toPixel(seconds));
  pen.stroke(makePath(at, plotArea.top, at, plotArea.top + plotArea.height), {
    color,
    width,
    dash,
  });
}

/** A clip as it is taken away: on white, below its name. */
export interface AudioChartExport extends Omit<AudioChartContent, 'layout'> {
  readonly title: string;
  readonly options: AudioLayoutOptions;
}

const EXPORT_SIZE = { width: 880, height: 400 };
const TITLE_HEIGHT = 36;
const EXPORT_MARGIN = 16;

export function exportAudioChartSvg(sheet: AudioChartExport): string {
  return renderSvg(EXPORT_SIZE, sheet.title, (pen) => drawExport(pen, sheet));
}

export function exportAudioChartPng(sheet: AudioChartExport): Promise<Blob> {
  return renderPng(EXPORT_SIZE, (pen) => drawExport(pen, sheet));
}

function drawExport(pen: Renderer, sheet: AudioChartExport): void {
  pen.rect({ left: 0, top: 0, ...EXPORT_SIZE }, { color: LIGHT_THEME.background });
  const title = { size: 15, bold: true, color: LIGHT_THEME.text, align: 'left' } as const;
  pen.text(sheet.title, EXPORT_MARGIN, 12, { ...title, baseline: 'top' });
  const size = {
    width: EXPORT_SIZE.width - EXPORT_MARGIN,
    height: EXPORT_SIZE.height - TITLE_HEIGHT - EXPORT_MARGIN / 2,
  };
  const layout = moveBelowTitle(layoutAudio(sheet.options, size, measureText));
  drawAudioChart(pen, { ...sheet, layout }, LIGHT_THEME);
}

type ExportLayout = AudioChartContent['layout'];

/** The same below the title. */
function moveBelowTitle(layout: ExportLayout): ExportLayout {
  const down = <B extends { readonly top: number }>(box: B): B => ({
    ...box,
    top: box.top + TITLE_HEIGHT,
  });
  return {
    ...layout,
    plotArea: down(layout.plotArea),
    waveforms: layout.waveforms.map(down),
    spectrogram: layout.spectrogram && down(layout.spectrogram),
  };
}
