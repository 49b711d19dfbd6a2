import { makeValueRequest, type SortedSteps, valuePath } from '../../api/client';
import type { QueryCache } from '../../api/query-cache';
import { defineQuery } from '../../api/query-definition';
import type { SpectrogramResponse, WaveformResponse } from '../../api/schemas';
import type { FrequencyScaleType, Spectrogram, Waveform } from '../../charts/audio/audio-data';

export const clipInfoQuery = defineQuery('GET audio/about', { scope: 'immutable' });

/** A clip as a file; the decoded audio is cached, so few files are. */
export const clipFileQuery = defineQuery('GET audio/clip', {
  scope: 'immutable',
  isFile: true,
  maxCost: 2,
});

const waveformQuery = defineQuery('GET audio/waveform', { scope: 'immutable', select: toWaveform });

const spectrogramQuery = defineQuery('GET audio/spectrogram', {
  scope: 'immutable',
  select: toSpectrogram,
});

export function toWaveform(answer: WaveformResponse): Waveform {
  const { sample_rate, channels: count, start, stop, low, high, rms } = answer;
  const columns = low.length / count;
  const channels = Array.from({ length: count }, (_, at) => {
    const own = (column: Float32Array): Float32Array =>
      column.subarray(at * columns, (at + 1) * columns);
    return { low: own(low), high: own(high), rms: own(rms) };
  });
  return { sampleRate: sample_rate, start, stop, channels };
}

export function toSpectrogram(answer: SpectrogramResponse): Spectrogram {
  const { sample_rate, low_hz, high_hz, low_db, high_db, ...rest } = answer;
  return {
    ...rest,
    sampleRate: sample_rate,
    lowHz: low_hz,
    highHz: high_hz,
    lowDb: low_db,
    highDb: high_db,
  };
}

/** A clip where it stands in the log. */
export interface ClipAddress {
  readonly steps: SortedSteps;
  readonly position: number;
  readonly part: number;
  /** What the clip, or the log, says of it; null: nothing. */
  readonly sampleRate: number | null;
}

/** What is to be drawn of a clip: frames, and the pixels there are for them. */
export interface WaveformOptions {
  readonly columns: number;
  readonly start: number;
  readonly stop: number;
}

export interface SpectrogramOptions {
  readonly width: number;
  readonly height: number;
  readonly start: number;
  readonly stop: number;
  readonly scale: FrequencyScaleType;
  readonly window: number | null;
}

/** Who makes pictures of a clip. */
export interface ClipSource {
  loadWaveform(clip: ClipAddress, ask: WaveformOptions, signal: AbortSignal): Promise<Waveform>;
  loadSpectrogram(
    clip: ClipAddress,
    ask: SpectrogramOptions,
    signal: AbortSignal,
  ): Promise<Spectrogram>;
}

export function clipPath({ steps, position, part }: ClipAddress): string {
  return valuePath('clip', steps, position, { part });
}

/** Plots that the server computes, so that the clip itself need not be loaded. */
export class ServerClipSource implements ClipSource {
  readonly #queries: QueryCache;

  constructor(queries: QueryCache) {
    this.#queries = queries;
  }

  loadWaveform(
    { steps, position, part }: ClipAddress,
    options: WaveformOptions,
    signal: AbortSignal,
  ): Promise<Waveform> {
    const request = { ...makeValueRequest(steps, position), part, ...options };
    return this.#queries.fetch(waveformQuery, request, { signal });
  }

  loadSpectrogram(
    { steps, position, part }: ClipAddress,
    options: SpectrogramOptions,
    signal: AbortSignal,
  ): Promise<Spectrogram> {
    const request = { ...makeValueRequest(steps, position), part, ...options };
    return this.#queries.fetch(spectrogramQuery, request, { signal });
  }
}
