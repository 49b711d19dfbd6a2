import type { FrequencyScale, Spectrogram, Waveform } from '../../../charts/sound/types';

/** One clip, as the server describes it. */
export interface ClipRow {
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

export interface ClipsAnswer {
  readonly total: number;
  readonly clips: readonly ClipRow[];
}

export interface WaveformAnswer {
  readonly sample_rate: number;
  readonly channels: number;
  readonly start: number;
  readonly stop: number;
  /** The columns of the first channel, then those of the next. */
  readonly low: Float32Array;
  readonly high: Float32Array;
  readonly rms: Float32Array;
}

export interface SpectrogramAnswer {
  readonly sample_rate: number;
  readonly start: number;
  readonly stop: number;
  readonly width: number;
  readonly height: number;
  readonly scale: FrequencyScale;
  readonly low_hz: number;
  readonly high_hz: number;
  readonly low_db: number;
  readonly high_db: number;
  readonly levels: Uint8Array;
}

export function waveformOf(answer: WaveformAnswer): Waveform {
  const { sample_rate, channels: count, start, stop, low, high, rms } = answer;
  const columns = low.length / count;
  const channels = Array.from({ length: count }, (_, at) => {
    const own = (column: Float32Array): Float32Array =>
      column.subarray(at * columns, (at + 1) * columns);
    return { low: own(low), high: own(high), rms: own(rms) };
  });
  return { sampleRate: sample_rate, start, stop, channels };
}

export function spectrogramOf(answer: SpectrogramAnswer): Spectrogram {
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
