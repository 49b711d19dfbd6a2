import { type SortedSteps, valuePath } from '../../api/client';
import type { FrequencyScaleType, Spectrogram, Waveform } from '../../charts/audio/audio-data';
import type { DashboardApi } from '../../plugin/context';

/** One clip, as the server describes it. */
export interface ClipInfo {
  readonly label: string;
  readonly bytes: number;
  readonly content_type: string;
  readonly encoding: string;
  readonly sample_rate: number | null;
  readonly channels: number | null;
  readonly bits: number | null;
  readonly frames: number | null;
  readonly duration_s: number | null;
  /** Why the server has no picture of it. */
  readonly problem: string | null;
}

export interface ClipsResponse {
  readonly total: number;
  readonly clips: readonly ClipInfo[];
}

export interface WaveformResponse {
  readonly sample_rate: number;
  readonly channels: number;
  readonly start: number;
  readonly stop: number;
  /** The columns of the first channel, then those of the next. */
  readonly low: Float32Array;
  readonly high: Float32Array;
  readonly rms: Float32Array;
}

export interface SpectrogramResponse {
  readonly sample_rate: number;
  readonly start: number;
  readonly stop: number;
  readonly width: number;
  readonly height: number;
  readonly scale: FrequencyScaleType;
  readonly low_hz: number;
  readonly high_hz: number;
  readonly low_db: number;
  readonly high_db: number;
  readonly levels: Uint8Array;
}

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

/** The server, which need not send the clip itself. */
export class ServerClipSource implements ClipSource {
  readonly #api: DashboardApi;

  constructor(api: DashboardApi) {
    this.#api = api;
  }

  async loadWaveform(
    { steps, position, part }: ClipAddress,
    ask: WaveformOptions,
    signal: AbortSignal,
  ): Promise<Waveform> {
    const path = valuePath('waveform', steps, position, { part, ...ask });
    return toWaveform(await this.#api.get<WaveformResponse>(path, signal));
  }

  async loadSpectrogram(
    { steps, position, part }: ClipAddress,
    { window, ...ask }: SpectrogramOptions,
    signal: AbortSignal,
  ): Promise<Spectrogram> {
    const extra = { part, ...ask, ...(window === null ? {} : { window }) };
    const path = valuePath('spectrogram', steps, position, extra);
    return toSpectrogram(await this.#api.get<SpectrogramResponse>(path, signal));
  }
}
