import * as m from '../../catalog/charts';
import { getSequentialRamp } from '../../lib/colors';
import { alignToPixel, LABEL_GAP_PX, LABEL_SIZE_PX } from '../axes/plot-axes';
import {
  type ChartTheme,
  expandRect,
  LIGHT_THEME,
  makePath,
  measureText,
  type Raster,
  type Rect,
  type Renderer,
} from '../renderer/renderer';
import { renderPng, renderSvg } from '../renderer/image-export';
import type { NumberRange } from '../types';
import {
  type AudioLayout,
  type AudioLayoutOptions,
  type ChannelWaveform,
  layoutAudio,
  makeFrequencyScale,
  makeFrequencyTicks,
  type Spectrogram,
  type Waveform,
} from './audio-layout';

/** Opacity of the area between minimum and maximum, behind the RMS area. */
const PEAK_OPACITY = 0.45;
/** Samples at least this far apart are drawn as dots. */
const MIN_DOT_SPACING_PX = 7;
/** Silence is drawn as a thin line. */
const MIN_WAVEFORM_HEIGHT_PX = 1;
/** Below this height, axis labels would overlap. */
const MIN_HEIGHT_FOR_LIMITS_PX = 44;

/** Draw waveforms; `maxAmplitude` fills the height of a box. */
export function drawWaveforms(
  renderer: Renderer,
  layout: AudioLayout,
  waveform: Waveform,
  look: Pick<AudioChartContent, 'color' | 'maxAmplitude'>,
  theme: ChartTheme,
): void {
  waveform.channels.forEach((channel, at) => {
    const box = layout.waveforms[at];
    if (!box) return;
    drawWaveformAxis(
      renderer,
      box,
      getChannelLabel(at, waveform.channels.length),
      look.maxAmplitude,
      theme,
    );
    const isWhole = channel.low.length === waveform.stop - waveform.start;
    const draw = isWhole ? drawSamples : drawEnvelope;
    renderer.clip(box, () => draw(renderer, layout, box, waveform, channel, look));
  });
}

/** Return the maximum amplitude, at least 1. */
export function findPeakAmplitude({ channels }: Waveform): number {
  let most = 0;
  for (const { low, high } of channels)
    for (let at = 0; at < low.length; at++) most = Math.max(most, -(low[at] || 0), high[at] || 0);
  return most;
}

/** Draw the zero line and the label of the channel or the amplitude limits. */
function drawWaveformAxis(
  renderer: Renderer,
  box: Rect,
  name: string,
  most: number,
  theme: ChartTheme,
): void {
  const middle = alignToPixel(box.top + box.height / 2);
  const right = box.left + box.width;
  renderer.stroke(makePath(box.left, middle, right, middle), { color: theme.grid, width: 1 });
  const style = { color: theme.label, size: LABEL_SIZE_PX, align: 'right' } as const;
  const x = box.left - LABEL_GAP_PX;
  renderer.text(name || '0', x, middle, { ...style, baseline: 'middle' });
  if (box.height < MIN_HEIGHT_FOR_LIMITS_PX) return;
  const text = String(Number(most.toPrecision(2)));
  renderer.text(text, x, box.top + 2, { ...style, baseline: 'top' });
  renderer.text(`−${text}`, x, box.top + box.height - 1, { ...style, baseline: 'bottom' });
}

function getChannelLabel(at: number, count: number): string {
  if (count < 2) return '';
  return count === 2
    ? ([m.audioChannelLeft, m.audioChannelRight][at] ?? '')
    : m.audioChannelNumber({ number: String(at + 1) });
}

type DrawChannel = (
  renderer: Renderer,
  layout: AudioLayout,
  box: Rect,
  waveform: Waveform,
  channel: ChannelWaveform,
  look: Pick<AudioChartContent, 'color' | 'maxAmplitude'>,
) => void;

const drawEnvelope: DrawChannel = (
  renderer,
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
    // Keep the RMS area within the envelope of asymmetric signals.
    const rms = channel.rms[at] ?? NaN;
    loud.low[at] = Math.min(low[at] ?? NaN, middle + (middle - y(rms)));
    loud.high[at] = Math.max(high[at] ?? NaN, y(rms));
  }
  renderer.area({ x, low, high, length: count }, { color, opacity: PEAK_OPACITY });
  renderer.area({ x, ...loud, length: count }, { color });
};

const drawSamples: DrawChannel = (
  renderer,
  layout,
  box,
  waveform,
  channel,
  { color, maxAmplitude },
) => {
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
  renderer.stroke({ points, length: points.length }, { color, width: 1.5 });
  if (layout.plotArea.width / count < MIN_DOT_SPACING_PX) return;
  for (let at = 0; at < points.length; at += 2)
    if (!Number.isNaN(points[at])) renderer.dot(points[at] ?? 0, points[at + 1] ?? 0, 2, { color });
};

function makeAmplitudeScale(box: Rect, most: number): { middle: number; y(value: number): number } {
  const middle = box.top + box.height / 2;
  const reach = (box.height / 2 - 1) / most;
  return { middle, y: (value) => middle - value * reach };
}

/** Return the time of a column in seconds. */
function getColumnSeconds(
  { start, stop, sampleRate }: Waveform,
  column: number,
  count: number,
): number {
  return (start + ((stop - start) * column) / count) / sampleRate;
}

/** Minimum distance of frequency labels. */
const MIN_TICK_SPACING_PX = 16;

export function drawSpectrogram(
  renderer: Renderer,
  layout: AudioLayout,
  spectrogram: Spectrogram,
  rangeDb: number,
  theme: ChartTheme,
): void {
  const box = layout.spectrogram;
  if (!box) return;
  const { start, stop, sampleRate } = spectrogram;
  const [left, right] = [start, stop].map((frame) => layout.x.scale.toPixel(frame / sampleRate));
  const place = { ...box, left: left ?? 0, width: (right ?? 0) - (left ?? 0) };
  renderer.clip(box, () =>
    renderer.image(getSpectrogramRaster(spectrogram, theme.background, rangeDb), place),
  );
  const style = { color: theme.label, size: LABEL_SIZE_PX, align: 'right' } as const;
  const { toPosition } = makeFrequencyScale(spectrogram);
  for (const { value, label } of makeFrequencyTicks(
    spectrogram,
    MIN_TICK_SPACING_PX / box.height,
  )) {
    const y = box.top + box.height * (1 - toPosition(value));
    const inside = Math.max(box.top + 5, Math.min(box.top + box.height - 5, y));
    renderer.text(label, box.left - LABEL_GAP_PX, inside, { ...style, baseline: 'middle' });
  }
}

interface CachedRaster {
  readonly background: string;
  readonly rangeDb: number;
  readonly raster: Raster;
}

/** The last raster of each spectrogram, reused while zooming. */
const rasterCache = new WeakMap<Spectrogram, CachedRaster>();

function getSpectrogramRaster(
  spectrogram: Spectrogram,
  background: string,
  rangeDb: number,
): Raster {
  const known = rasterCache.get(spectrogram);
  if (known && known.background === background && known.rangeDb === rangeDb) return known.raster;
  const raster = renderSpectrogram(spectrogram, getSequentialRamp(background), rangeDb);
  rasterCache.set(spectrogram, { background: background, rangeDb, raster });
  return raster;
}

/** Render the pixels of a spectrogram. Colors span the `rangeDb` below the maximum level. */
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
    // Images start at the top, spectrograms at the lowest frequency.
    const from = (height - 1 - row) * width;
    for (let column = 0; column < width; column++)
      pixels[row * width + column] = table[levels[from + column] ?? 0] ?? 0;
  }
  return { width, height, pixels: new Uint8ClampedArray(pixels.buffer) };
}

export interface AudioChartContent {
  readonly layout: AudioLayout;
  readonly waveform: Waveform | null;
  readonly spectrogram: Spectrogram | null;
  readonly color: string;
  /** The amplitude that fills the height. */
  readonly maxAmplitude: number;
  /** Difference between the strongest and the weakest color. */
  readonly rangeDb: number;
}

export interface AudioOverlay {
  /** Playback position in seconds. */
  readonly position: number | null;
  readonly loop: NumberRange | null;
  readonly hover: number | null;
}

export function drawAudioChart(
  renderer: Renderer,
  picture: AudioChartContent,
  theme: ChartTheme,
): void {
  const { layout, waveform, spectrogram, rangeDb } = picture;
  if (waveform) drawWaveforms(renderer, layout, waveform, picture, theme);
  if (spectrogram) drawSpectrogram(renderer, layout, spectrogram, rangeDb, theme);
  drawTimeAxis(renderer, layout, theme);
}

function drawTimeAxis(
  renderer: Renderer,
  { plotArea, x, size }: AudioLayout,
  { axis, label }: ChartTheme,
): void {
  const bottom = plotArea.top + plotArea.height;
  const line = alignToPixel(bottom);
  renderer.stroke(makePath(plotArea.left, line, plotArea.left + plotArea.width, line), {
    color: axis,
    width: 1,
  });
  const style = { color: label, size: LABEL_SIZE_PX, align: 'center', baseline: 'top' } as const;
  for (const { value, label: text } of x.ticks) {
    const half = renderer.measureText(text, style) / 2;
    const at = Math.max(half, Math.min(size.width - half, x.scale.toPixel(value)));
    renderer.text(text, at, bottom + 4, style);
  }
}

export function drawAudioOverlay(
  renderer: Renderer,
  layout: AudioLayout,
  { position, loop, hover }: AudioOverlay,
  theme: ChartTheme,
): void {
  renderer.clip(expandRect(layout.plotArea, 3), () => {
    if (loop) drawLoop(renderer, layout, loop, theme);
    if (hover !== null) drawTimeLine(renderer, layout, hover, theme.crosshair, 1, [3, 3]);
    if (position !== null) drawPlayhead(renderer, layout, position, theme);
  });
}

function drawLoop(
  renderer: Renderer,
  layout: AudioLayout,
  loop: NumberRange,
  { accent }: ChartTheme,
): void {
  const [left, right] = [layout.x.scale.toPixel(loop[0]), layout.x.scale.toPixel(loop[1])];
  renderer.rect(
    { ...layout.plotArea, left, width: right - left },
    { color: accent, opacity: 0.12 },
  );
  for (const end of loop) drawTimeLine(renderer, layout, end, accent, 1);
}

function drawPlayhead(
  renderer: Renderer,
  layout: AudioLayout,
  position: number,
  theme: ChartTheme,
): void {
  drawTimeLine(renderer, layout, position, theme.text, 1.5);
  const [x, top] = [layout.x.scale.toPixel(position), layout.plotArea.top];
  renderer.fill(makePath(x - 4, top - 1, x + 4, top - 1, x, top + 5), { color: theme.text });
}

function drawTimeLine(
  renderer: Renderer,
  { x, plotArea }: AudioLayout,
  seconds: number,
  color: string,
  width: number,
  dash: readonly number[] = [],
): void {
  const at = alignToPixel(x.scale.toPixel(seconds));
  renderer.stroke(makePath(at, plotArea.top, at, plotArea.top + plotArea.height), {
    color,
    width,
    dash,
  });
}

/** Content of an exported image. */
export interface AudioChartExport extends Omit<AudioChartContent, 'layout'> {
  readonly title: string;
  readonly options: AudioLayoutOptions;
}

const EXPORT_SIZE = { width: 880, height: 400 };
const TITLE_HEIGHT = 36;
const EXPORT_MARGIN = 16;

export function exportAudioChartSvg(sheet: AudioChartExport): string {
  return renderSvg(EXPORT_SIZE, sheet.title, (renderer) => drawExport(renderer, sheet));
}

export function exportAudioChartPng(sheet: AudioChartExport): Promise<Blob> {
  return renderPng(EXPORT_SIZE, (renderer) => drawExport(renderer, sheet));
}

function drawExport(renderer: Renderer, sheet: AudioChartExport): void {
  renderer.rect({ left: 0, top: 0, ...EXPORT_SIZE }, { color: LIGHT_THEME.background });
  const title = { size: 15, bold: true, color: LIGHT_THEME.text, align: 'left' } as const;
  renderer.text(sheet.title, EXPORT_MARGIN, 12, { ...title, baseline: 'top' });
  const size = {
    width: EXPORT_SIZE.width - EXPORT_MARGIN,
    height: EXPORT_SIZE.height - TITLE_HEIGHT - EXPORT_MARGIN / 2,
  };
  const layout = moveBelowTitle(layoutAudio(sheet.options, size, measureText));
  drawAudioChart(renderer, { ...sheet, layout }, LIGHT_THEME);
}

type ExportLayout = AudioChartContent['layout'];

/** Move a layout below the title. */
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
