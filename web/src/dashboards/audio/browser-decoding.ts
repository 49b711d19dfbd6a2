import { ServerError } from '../../api/errors';
import type { QueryCache } from '../../api/query-cache';
import {
  type ChannelWaveform,
  type FrequencyScaleType,
  makeFrequencyScale,
  type Spectrogram,
  type Waveform,
} from '../../charts/audio/audio-layout';
import { LruCache } from '../../lib/caches';
import {
  type ClipAddress,
  clipFileQuery,
  clipPath,
  makeClipRequest,
  type SpectrogramOptions,
  type WaveformOptions,
} from './query';
import * as m from '../../catalog/audio';

/** A clip decoded by the browser. */
export interface DecodedAudio {
  readonly sampleRate: number;
  readonly frames: number;
  readonly channels: readonly Float32Array[];
}

/** Larger files would need too much memory. */
const MAX_DECODED_FILE_BYTES = 32 << 20;
/** The sample rates that browsers support. */
const MIN_SAMPLE_RATE_HZ = 3000;
const MAX_SAMPLE_RATE_HZ = 768_000;
const DEFAULT_SAMPLE_RATE_HZ = 48_000;

async function decodeAudio(file: ArrayBuffer, sampleRate: number | null): Promise<DecodedAudio> {
  if (file.byteLength > MAX_DECODED_FILE_BYTES) throw makeDecodeError(m.errorTooLarge);
  const wanted = sampleRate ?? DEFAULT_SAMPLE_RATE_HZ;
  const rate = Math.max(MIN_SAMPLE_RATE_HZ, Math.min(MAX_SAMPLE_RATE_HZ, wanted));
  const buffer = await new OfflineAudioContext(1, 1, rate).decodeAudioData(file).catch(() => {
    throw makeDecodeError(m.errorCannotDecode);
  });
  return {
    sampleRate: buffer.sampleRate,
    frames: buffer.length,
    channels: Array.from({ length: buffer.numberOfChannels }, (_, at) => buffer.getChannelData(at)),
  };
}

function makeDecodeError(message: string): ServerError {
  return new ServerError({ message, hint: m.errorCannotDecodeHint }, 0);
}

/** Compute what the server's route `waveform` returns. */
export function computeWaveform(audio: DecodedAudio, options: WaveformOptions): Waveform {
  const stop = Math.max(1, Math.min(options.stop, audio.frames));
  const start = Math.min(options.start, stop - 1);
  const count = Math.min(options.columns, stop - start);
  const channels = audio.channels.map((samples) =>
    computeChannelWaveform(samples, start, stop, count),
  );
  return { sampleRate: audio.sampleRate, start, stop, channels };
}

function computeChannelWaveform(
  samples: Float32Array,
  start: number,
  stop: number,
  count: number,
): ChannelWaveform {
  const low = new Float32Array(count);
  const high = new Float32Array(count);
  const rms = new Float32Array(count);
  for (let column = 0; column < count; column++) {
    const first = start + Math.floor((column * (stop - start)) / count);
    const end = start + Math.floor(((column + 1) * (stop - start)) / count);
    let [min, max, sumOfSquares] = [Infinity, -Infinity, 0];
    for (let frame = first; frame < end; frame++) {
      const sample = samples[frame] ?? 0;
      if (sample < min) min = sample;
      if (sample > max) max = sample;
      sumOfSquares += sample * sample;
    }
    low[column] = min;
    high[column] = max;
    rms[column] = Math.sqrt(sumOfSquares / (end - first));
  }
  return { low, high, rms };
}

/** A Fourier transform with a Hann window; the size is a power of two. */
export class WindowedFft {
  readonly size: number;
  readonly #window: Float64Array;
  readonly #cos: Float64Array;
  readonly #sin: Float64Array;
  readonly #re: Float64Array;
  readonly #im: Float64Array;

  constructor(size: number) {
    this.size = size;
    this.#window = Float64Array.from(
      { length: size },
      (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / size),
    );
    this.#cos = Float64Array.from({ length: size / 2 }, (_, at) => Math.cos(this.#angle(at)));
    this.#sin = Float64Array.from({ length: size / 2 }, (_, at) => Math.sin(this.#angle(at)));
    this.#re = new Float64Array(size);
    this.#im = new Float64Array(size);
  }

  /** Add the power of each frequency to `power`; a sine with amplitude 1 has power 1. */
  addPower(samples: Float32Array, first: number, power: Float64Array): void {
    const [re, im] = [this.#re, this.#im];
    for (let at = 0; at < this.size; at++) {
      re[at] = (samples[first + at] ?? 0) * (this.#window[at] ?? 0);
      im[at] = 0;
    }
    this.#reverseBits();
    for (let half = 1; half < this.size; half *= 2) this.#combine(half);
    // The window halves the amplitude, and half of the power is at negative frequencies.
    const scale = (4 / this.size) ** 2;
    for (let at = 0; at < power.length; at++)
      power[at] = (power[at] ?? 0) + ((re[at] ?? 0) ** 2 + (im[at] ?? 0) ** 2) * scale;
  }

  #angle(at: number): number {
    return (-2 * Math.PI * at) / this.size;
  }

  /** Reorder the samples by bit-reversed index. */
  #reverseBits(): void {
    const re = this.#re;
    for (let at = 1, other = 0; at < this.size; at++) {
      let bit = this.size >> 1;
      for (; other & bit; bit >>= 1) other ^= bit;
      other ^= bit;
      if (at >= other) continue;
      const swapped = re[at] ?? 0;
      re[at] = re[other] ?? 0;
      re[other] = swapped;
    }
  }

  #combine(half: number): void {
    const [re, im] = [this.#re, this.#im];
    const stride = this.size / (2 * half);
    for (let block = 0; block < this.size; block += 2 * half) {
      for (let at = 0; at < half; at++) {
        const [cos, sin] = [this.#cos[at * stride] ?? 0, this.#sin[at * stride] ?? 0];
        const [one, other] = [block + at, block + at + half];
        const [a, b] = [re[other] ?? 0, im[other] ?? 0];
        const [real, imaginary] = [a * cos - b * sin, a * sin + b * cos];
        re[other] = (re[one] ?? 0) - real;
        im[other] = (im[one] ?? 0) - imaginary;
        re[one] = (re[one] ?? 0) + real;
        im[one] = (im[one] ?? 0) + imaginary;
      }
    }
  }
}

const RANGE_DB = 120;
const WINDOW_S = 0.04;
const MIN_AUDIBLE_HZ = 20;
/** Transforms per spectrogram, so that the page is not blocked for a noticeable time. */
const MAX_FFTS = 1500;

/** Compute what the server's route `spectrogram` returns. */
export function computeSpectrogram(audio: DecodedAudio, options: SpectrogramOptions): Spectrogram {
  const stop = Math.max(1, Math.min(options.stop, audio.frames));
  const start = Math.min(options.start, stop - 1);
  const width = Math.min(options.width, stop - start);
  const window = options.window ?? chooseWindow(audio.sampleRate, stop - start);
  const highHz = audio.sampleRate / 2;
  const { height, scale } = options;
  const axis = { scale, lowHz: minFrequency(scale, highHz), highHz };
  const rows = binRanges(axis, height, window);
  const levels = new Uint8Array(width * height);
  const ffts = fftsPerColumn(audio, (stop - start) / width, width, window);
  const transform = new WindowedFft(window);
  for (let column = 0; column < width; column++) {
    const power = new Float64Array(window / 2 + 1);
    for (let fft = 0; fft < ffts; fft++) {
      const middle = start + ((column + (fft + 0.5) / ffts) * (stop - start)) / width;
      const first = Math.floor(middle) - window / 2;
      for (const samples of audio.channels) transform.addPower(samples, first, power);
    }
    const scale = 1 / (ffts * audio.channels.length);
    rows.forEach(
      (row, at) => (levels[at * width + column] = powerToLevel(maxPower(power, row) * scale)),
    );
  }
  const { sampleRate } = audio;
  return { ...axis, sampleRate, start, stop, width, height, lowDb: -RANGE_DB, highDb: 0, levels };
}

function fftsPerColumn(audio: DecodedAudio, span: number, width: number, window: number): number {
  const affordable = Math.floor(MAX_FFTS / (width * audio.channels.length));
  return Math.max(1, Math.min(affordable, Math.ceil(span / (window / 2))));
}

export function chooseWindow(sampleRate: number, frames: number): number {
  const wanted = Math.max(16, Math.min(sampleRate * WINDOW_S, frames / 4, 8192));
  return 2 ** Math.round(Math.log2(wanted));
}

function minFrequency(scale: FrequencyScaleType, highHz: number): number {
  return scale === 'log' ? Math.min(MIN_AUDIBLE_HZ, highHz / 10) : 0;
}

/** The frequencies of a row, as fractional indexes of the transform. */
type BinRange = readonly [number, number];

function binRanges(
  axis: Pick<Spectrogram, 'scale' | 'lowHz' | 'highHz'>,
  height: number,
  window: number,
): BinRange[] {
  const { toHz } = makeFrequencyScale(axis);
  const edge = (row: number): number => (toHz(row / height) * (window / 2)) / axis.highHz;
  return Array.from({ length: height }, (_, row) => [edge(row), edge(row + 1)] as const);
}

/** Return the largest power in a row, interpolated if frequencies are further apart than rows. */
function maxPower(power: Float64Array, [low, high]: BinRange): number {
  const middle = (low + high) / 2;
  const below = Math.min(power.length - 2, Math.floor(middle));
  const share = middle - below;
  let max = (power[below] ?? 0) * (1 - share) + (power[below + 1] ?? 0) * share;
  for (let at = Math.ceil(low); at < high; at++) max = Math.max(max, power[at] ?? 0);
  return max;
}

function powerToLevel(power: number): number {
  const db = 10 * Math.log10(Math.max(power, 1e-30));
  return Math.max(0, Math.min(255, Math.round(((db + RANGE_DB) * 255) / RANGE_DB)));
}

/** Four bytes per sample. */
const MAX_CACHED_SAMPLES = 32 << 20;

/** Downloads clips and decodes them in the browser. Decoded audio is cached. */
export class AudioDecoder {
  readonly #queries: QueryCache;
  readonly #decoded = new LruCache<DecodedAudio>(MAX_CACHED_SAMPLES);
  readonly #pending = new Map<string, Promise<DecodedAudio>>();

  constructor(queries: QueryCache) {
    this.#queries = queries;
  }

  /** `sampleRate` is that of the clip if it is known; the audio is not resampled then. */
  async decode(
    clip: ClipAddress,
    sampleRate: number | null,
    signal: AbortSignal,
  ): Promise<DecodedAudio> {
    const path = clipPath(clip);
    const known = this.#decoded.get(path);
    if (known) return known;
    const file = await this.#queries.fetch(clipFileQuery, makeClipRequest(clip), { signal });
    const pending = this.#pending.get(path) ?? this.#decodeFile(path, file, sampleRate);
    this.#pending.set(path, pending);
    return pending;
  }

  async #decodeFile(path: string, file: Blob, sampleRate: number | null): Promise<DecodedAudio> {
    try {
      const audio = await decodeAudio(await file.arrayBuffer(), sampleRate);
      this.#decoded.set(path, audio, audio.frames * audio.channels.length);
      return audio;
    } finally {
      this.#pending.delete(path);
    }
  }
}
