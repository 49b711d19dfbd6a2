import {
  makeValueRequest,
  type SortedSteps,
  makeValuePath,
} from '../../cards/steps/step-selection.svelte';
import { defineQuery } from '../../api/query-definition';
import type { ClipRequest, SpectrogramResponse, WaveformResponse } from '../../api/schemas';
import type { FrequencyScaleType, Spectrogram, Waveform } from '../../charts/audio/audio-layout';
import type { NumberRange } from '../../charts/types';

export const clipInfoQuery = defineQuery('GET audio/about', { scope: 'immutable' });

/** A clip as a file; the decoded audio is cached, so few files are. */
export const clipFileQuery = defineQuery('GET audio/clip', {
  scope: 'immutable',
  isFile: true,
  maxCost: 2,
});

export const waveformQuery = defineQuery('GET audio/waveform', {
  scope: 'immutable',
  select: toWaveform,
});

export const spectrogramQuery = defineQuery('GET audio/spectrogram', {
  scope: 'immutable',
  select: toSpectrogram,
});

export function toWaveform(response: WaveformResponse): Waveform {
  const { sample_rate, channels: count, start, stop, low, high, rms } = response;
  const columns = low.length / count;
  const channels = Array.from({ length: count }, (_, channel) => {
    const slice = (values: Float32Array): Float32Array =>
      values.subarray(channel * columns, (channel + 1) * columns);
    return { low: slice(low), high: slice(high), rms: slice(rms) };
  });
  return { sampleRate: sample_rate, start, stop, channels };
}

export function toSpectrogram(response: SpectrogramResponse): Spectrogram {
  const { sample_rate, low_hz, high_hz, low_db, high_db, ...rest } = response;
  return {
    ...rest,
    sampleRate: sample_rate,
    lowHz: low_hz,
    highHz: high_hz,
    lowDb: low_db,
    highDb: high_db,
  };
}

/** A clip of a logged value; `part` is its index. */
export interface ClipAddress {
  readonly steps: SortedSteps;
  readonly position: number;
  readonly part: number;
}

export function makeClipRequest({ steps, position, part }: ClipAddress): Required<ClipRequest> {
  return { ...makeValueRequest(steps, position), clip: part };
}

export function clipPath({ steps, position, part }: ClipAddress): string {
  return makeValuePath('clip', steps, position, { clip: part });
}

export interface AudioFormat {
  readonly sampleRate: number;
  readonly frames: number;
  readonly channels: number;
}

/** Frequency scale of the spectrograms below the waveforms. */
export type SpectrogramMode = 'off' | FrequencyScaleType;

/** The visible part of a clip and its size on the screen. */
export interface PlotView {
  /** In seconds; null: the whole clip. */
  readonly timeRange: NumberRange | null;
  readonly width: number;
  readonly height: number;
  readonly spectrogram: SpectrogramMode;
  /** Frames per Fourier transform; null: automatic. */
  readonly window: number | null;
}

export interface FrameRange {
  readonly start: number;
  readonly stop: number;
}

export interface WaveformOptions extends FrameRange {
  readonly columns: number;
}

export interface SpectrogramOptions extends FrameRange {
  readonly width: number;
  readonly height: number;
  readonly scale: FrequencyScaleType;
  readonly window: number | null;
}

/** Sizes are rounded up to multiples of this, so that resizing does not request every width. */
const SIZE_STEP_PX = 64;
const MAX_WIDTH_PX = 2048;
const MAX_HEIGHT_PX = 256;

export function makeWaveformOptions(format: AudioFormat, view: PlotView): WaveformOptions {
  return {
    columns: roundUpSize(view.width, MAX_WIDTH_PX),
    ...visibleFrames(format, view.timeRange),
  };
}

/** Return null if no spectrogram is shown. */
export function makeSpectrogramOptions(
  format: AudioFormat,
  { timeRange, width, height, spectrogram, window }: PlotView,
): SpectrogramOptions | null {
  if (spectrogram === 'off') return null;
  return {
    width: roundUpSize(width, MAX_WIDTH_PX),
    height: roundUpSize(height, MAX_HEIGHT_PX),
    ...visibleFrames(format, timeRange),
    scale: spectrogram,
    window,
  };
}

/** Return the frames of a time range, including those that are partly visible. */
function visibleFrames(
  { sampleRate, frames }: AudioFormat,
  timeRange: NumberRange | null,
): FrameRange {
  if (!timeRange) return { start: 0, stop: frames };
  const start = Math.max(0, Math.floor(timeRange[0] * sampleRate));
  return { start, stop: Math.min(frames, Math.ceil(timeRange[1] * sampleRate) + 1) };
}

function roundUpSize(pixels: number, max: number): number {
  return Math.min(max, SIZE_STEP_PX * Math.max(1, Math.ceil(pixels / SIZE_STEP_PX)));
}
