/** The data of an audio chart, and where its waveforms, spectrograms and axes are. */
import * as m from '../../catalog/charts';
import { type Axis, LABEL_SIZE_PX, type Size } from '../axes/plot-axes';
import { makeScale, makeTicks, type Tick } from '../axes/ticks';
import type { Point, Rect, Renderer } from '../renderer/renderer';
import type { NumberRange } from '../types';

/** Samples of a channel per pixel column; NaN for a column without samples. */
export interface ChannelWaveform {
  readonly low: Float32Array;
  readonly high: Float32Array;
  /** Root mean square of the samples. */
  readonly rms: Float32Array;
}

/** A part of a clip. If a channel has as many columns as frames, it has all samples. */
export interface Waveform {
  readonly sampleRate: number;
  /** In frames, `stop` is exclusive. */
  readonly start: number;
  readonly stop: number;
  readonly channels: readonly ChannelWaveform[];
}

export type FrequencyScaleType = 'linear' | 'log' | 'mel';

/** Levels from 0 to 255 in rows, lowest frequency first. */
export interface Spectrogram {
  readonly sampleRate: number;
  readonly start: number;
  readonly stop: number;
  readonly width: number;
  readonly height: number;
  readonly scale: FrequencyScaleType;
  readonly lowHz: number;
  readonly highHz: number;
  /** The levels 0 and 255 in dB. */
  readonly lowDb: number;
  readonly highDb: number;
  readonly levels: Uint8Array;
}

/** Maps frequencies to positions, from 0 at the bottom to 1 at the top. */
export interface FrequencyScale {
  toPosition(hz: number): number;
  toHz(place: number): number;
}

type FrequencyAxis = Pick<Spectrogram, 'scale' | 'lowHz' | 'highHz'>;

const FREQUENCY_TRANSFORMS: Record<
  FrequencyScaleType,
  { to(hz: number): number; from(value: number): number }
> = {
  linear: { to: (hz) => hz, from: (value) => value },
  log: { to: Math.log, from: Math.exp },
  mel: {
    to: (hz) => 2595 * Math.log10(1 + hz / 700),
    from: (value) => 700 * (10 ** (value / 2595) - 1),
  },
};

/** Ticks of nonlinear scales. */
const ROUND_HZ = [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

export function makeFrequencyScale({ scale, lowHz, highHz }: FrequencyAxis): FrequencyScale {
  const { to, from } = FREQUENCY_TRANSFORMS[scale];
  const [low, high] = [to(lowHz), to(highHz)];
  return {
    toPosition: (hz) => (to(hz) - low) / (high - low),
    toHz: (place) => from(low + place * (high - low)),
  };
}

/** Return frequency ticks that are at least `gap` apart, as a fraction of the height. */
export function makeFrequencyTicks(axis: FrequencyAxis, gap: number): Tick[] {
  const { toPosition } = makeFrequencyScale(axis);
  if (axis.scale === 'linear')
    return makeTicks('linear', 'number', [axis.lowHz, axis.highHz], Math.max(1, 1 / gap)).filter(
      ({ value }) => value > 0,
    );
  const ticks: Tick[] = [];
  let below = 0;
  for (const value of ROUND_HZ) {
    const place = toPosition(value);
    if (value < axis.lowHz || value > axis.highHz || place - below < gap) continue;
    ticks.push({
      value,
      label: value < 1000 ? String(value) : m.tickThousand({ value: String(value / 1000) }),
    });
    below = place;
  }
  return ticks;
}

/**
 * Layout of an audio chart: one box per channel, the spectrogram below, the time axis at the
 * bottom.
 */
export interface AudioLayout {
  readonly size: Size;
  /** Bounds of all boxes. */
  readonly plotArea: Rect;
  readonly waveforms: readonly Rect[];
  readonly spectrogram: Rect | null;
  readonly x: Axis;
}

export interface AudioLayoutOptions {
  readonly channels: number;
  readonly hasSpectrogram: boolean;
  /** Visible time range in seconds. */
  readonly span: NumberRange;
}

const LEFT = 34;
const RIGHT = 8;
const TOP = 4;
const BOTTOM = 17;
const GAP = 5;
/** Fraction of the height for the waveforms if there is a spectrogram. */
const WAVEFORM_HEIGHT_RATIO = 0.4;
const LABEL_SPACING_PX = 30;

export function layoutAudio(
  options: AudioLayoutOptions,
  size: Size,
  measure: Renderer['measureText'],
): AudioLayout {
  const width = Math.max(1, size.width - LEFT - RIGHT);
  const height = Math.max(1, size.height - TOP - BOTTOM);
  const frame = { left: LEFT, top: TOP, width, height };
  const waveHeight = options.hasSpectrogram
    ? Math.round(WAVEFORM_HEIGHT_RATIO * (height - GAP))
    : height;
  const spectrum = { ...frame, top: TOP + waveHeight + GAP, height: height - waveHeight - GAP };
  return {
    size,
    plotArea: frame,
    waveforms: splitVertically({ ...frame, height: waveHeight }, options.channels),
    spectrogram: options.hasSpectrogram ? spectrum : null,
    x: {
      scale: makeScale('linear', options.span, [LEFT, LEFT + width]),
      ticks: fitTicks(options.span, width, measure),
    },
  };
}

function splitVertically(box: Rect, count: number): Rect[] {
  const height = box.height / Math.max(1, count);
  return Array.from({ length: count }, (_, at) => ({ ...box, top: box.top + at * height, height }));
}

/** Return as many ticks as their labels allow. */
function fitTicks(span: NumberRange, width: number, measure: Renderer['measureText']): Tick[] {
  for (let count = Math.max(1, Math.round(width / 50)); count > 1; count--) {
    const ticks = makeTicks('linear', 'duration', span, count);
    const widest = Math.max(
      0,
      ...ticks.map(({ label }) => measure(label, { size: LABEL_SIZE_PX })),
    );
    if (ticks.length * (widest + LABEL_SPACING_PX) <= width + LABEL_SPACING_PX) return ticks;
  }
  return makeTicks('linear', 'duration', span, 1);
}

/** Minimum visible range. */
const MIN_FRAMES = 8;

/** Return the visible range after a zoom around `at`; null shows the whole clip. */
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

export interface AudioHoverInfo {
  readonly seconds: number;
  /** Minimum and maximum of the pixel column, if a waveform is hovered. */
  readonly samples: readonly [number, number] | null;
  /** Set if the spectrogram is hovered. */
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
  // If all samples are drawn, a column is a sample: use the nearest one.
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
