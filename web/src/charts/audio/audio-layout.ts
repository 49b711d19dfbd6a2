import { type Axis, LABEL_SIZE_PX, type Size } from '../axes/plot-layout';
import { makeScale } from '../axes/scale';
import { makeTicks, type Tick } from '../axes/ticks';
import type { Point, Rect, Renderer } from '../renderer/renderer';
import type { NumberRange } from '../types';
import { makeFrequencyScale, type Spectrogram, type Waveform } from './audio-data';

/** Where everything goes: one box a channel, the spectrogram below them, seconds at the foot. */
export interface AudioLayout {
  readonly size: Size;
  /** All boxes together. */
  readonly plotArea: Rect;
  readonly waveforms: readonly Rect[];
  readonly spectrogram: Rect | null;
  readonly x: Axis;
}

export interface AudioLayoutOptions {
  readonly channels: number;
  readonly hasSpectrogram: boolean;
  /** What is seen, in seconds. */
  readonly span: NumberRange;
}

const LEFT = 34;
const RIGHT = 8;
const TOP = 4;
const BOTTOM = 17;
const GAP = 5;
/** How much of the height waveforms have beside a spectrogram. */
const WAVEFORM_HEIGHT_RATIO = 0.4;
const LABEL_SPACING_PX = 30;

export function layoutAudio(
  plan: AudioLayoutOptions,
  size: Size,
  widthOf: Renderer['measureText'],
): AudioLayout {
  const width = Math.max(1, size.width - LEFT - RIGHT);
  const height = Math.max(1, size.height - TOP - BOTTOM);
  const frame = { left: LEFT, top: TOP, width, height };
  const waveHeight = plan.hasSpectrogram
    ? Math.round(WAVEFORM_HEIGHT_RATIO * (height - GAP))
    : height;
  const spectrum = { ...frame, top: TOP + waveHeight + GAP, height: height - waveHeight - GAP };
  return {
    size,
    plotArea: frame,
    waveforms: splitVertically({ ...frame, height: waveHeight }, plan.channels),
    spectrogram: plan.hasSpectrogram ? spectrum : null,
    x: {
      scale: makeScale('linear', plan.span, [LEFT, LEFT + width]),
      ticks: fitTicks(plan.span, width, widthOf),
    },
  };
}

function splitVertically(box: Rect, count: number): Rect[] {
  const height = box.height / Math.max(1, count);
  return Array.from({ length: count }, (_, at) => ({ ...box, top: box.top + at * height, height }));
}

/** As many ticks as there is room for their words. */
function fitTicks(span: NumberRange, width: number, widthOf: Renderer['measureText']): Tick[] {
  for (let count = Math.max(1, Math.round(width / 50)); count > 1; count--) {
    const ticks = makeTicks('linear', 'duration', span, count);
    const widest = Math.max(
      0,
      ...ticks.map(({ label }) => widthOf(label, { size: LABEL_SIZE_PX })),
    );
    if (ticks.length * (widest + LABEL_SPACING_PX) <= width + LABEL_SPACING_PX) return ticks;
  }
  return makeTicks('linear', 'duration', span, 1);
}

/** No closer than so many samples. */
const MIN_FRAMES = 8;

/** What is seen after a zoom around a place; null is all of a clip of that length. */
export function zoomTimeRange(
  [low, high]: NumberRange,
  at: number,
  factor: number,
  duration: number,
  sampleRate: number,
): NumberRange | null {
  const shortest = Math.min(duration, MIN_FRAMES / sampleRate);
  const length = Math.min(duration, Math.max(shortest, (high - low) / factor));
  const share = high > low ? (at - low) / (high - low) : 0.5;
  return clampTimeRange([at - share * length, at + (1 - share) * length], duration);
}

export function panTimeRange(
  [low, high]: NumberRange,
  by: number,
  duration: number,
): NumberRange | null {
  return clampTimeRange([low + by, high + by], duration);
}

function clampTimeRange([low, high]: NumberRange, duration: number): NumberRange | null {
  const length = high - low;
  if (length >= duration * (1 - 1e-9)) return null;
  const start = Math.max(0, Math.min(duration - length, low));
  return [start, start + length];
}

/** What is at a place of a chart. */
export interface AudioHoverInfo {
  readonly seconds: number;
  /** Lowest and highest sample around there, where the pointer is on a waveform. */
  readonly samples: readonly [number, number] | null;
  /** Where it is on the spectrogram. */
  readonly level: { readonly hz: number; readonly db: number } | null;
}

export function getAudioHoverInfo(
  at: Point,
  layout: AudioLayout,
  waveform: Waveform | null,
  spectrogram: Spectrogram | null,
): AudioHoverInfo {
  const seconds = layout.x.scale.toValue(at.x);
  return {
    seconds,
    samples: waveform && getSamplesAt(at, seconds, layout, waveform),
    level: spectrogram && getLevelAt(at, seconds, layout, spectrogram),
  };
}

function getSamplesAt(
  { y }: Point,
  seconds: number,
  { waveforms }: AudioLayout,
  { start, stop, sampleRate, channels }: Waveform,
): readonly [number, number] | null {
  const channel = channels[waveforms.findIndex(({ top, height }) => y >= top && y < top + height)];
  if (!channel) return null;
  const count = channel.low.length;
  const share = (seconds * sampleRate - start) / (stop - start);
  // With all samples there a column is a sample, and the nearest one is meant.
  const place = share * count + (count === stop - start ? 0.5 : 0);
  const column = Math.floor(place);
  const [low, high] = [channel.low[column], channel.high[column]];
  return low === undefined || high === undefined ? null : [low, high];
}

function getLevelAt(
  { y }: Point,
  seconds: number,
  { spectrogram: spectrum }: AudioLayout,
  spectrogram: Spectrogram,
): AudioHoverInfo['level'] {
  if (!spectrum || y < spectrum.top || y >= spectrum.top + spectrum.height) return null;
  const { width, height, start, stop, sampleRate, lowDb, highDb, levels } = spectrogram;
  const share = (seconds * sampleRate - start) / (stop - start);
  const place = 1 - (y - spectrum.top) / spectrum.height;
  const column = Math.floor(share * width);
  const row = Math.min(height - 1, Math.floor(place * height));
  const level = column < 0 || column >= width ? undefined : levels[row * width + column];
  if (level === undefined) return null;
  const db = lowDb + (level / 255) * (highDb - lowDb);
  return { hz: makeFrequencyScale(spectrogram).toHz(place), db };
}
