import { makeValueRequest } from '../../api/client';
import { ServerError } from '../../api/errors';
import type { QueryCache } from '../../api/query-cache';
import {
  type ChannelWaveform,
  type FrequencyScaleType,
  makeFrequencyScale,
  type Spectrogram,
  type Waveform,
} from '../../charts/audio/audio-data';
import {
  type ClipAddress,
  clipFileQuery,
  clipPath,
  type ClipSource,
  type SpectrogramOptions,
  type WaveformOptions,
} from './query';

/** A clip decoded by the browser. */
export interface DecodedAudio {
  readonly sampleRate: number;
  readonly frames: number;
  readonly channels: readonly Float32Array[];
}

/** A larger file would take too much memory to decode. */
const MAX_DECODED_FILE_BYTES = 32 << 20;
/** What browsers can be asked for; with the rate of the clip itself nothing is resampled. */
const SAMPLE_RATES_HZ = { lowest: 3000, highest: 768_000, usual: 48_000 };

export async function decodeAudio(
  file: ArrayBuffer,
  sampleRate: number | null,
): Promise<DecodedAudio> {
  if (file.byteLength > MAX_DECODED_FILE_BYTES)
    throw new Error('too large to be decoded in a page');
  const wanted = sampleRate ?? SAMPLE_RATES_HZ.usual;
  const rate = Math.max(SAMPLE_RATES_HZ.lowest, Math.min(SAMPLE_RATES_HZ.highest, wanted));
  const buffer = await new OfflineAudioContext(1, 1, rate).decodeAudioData(file);
  return {
    sampleRate: buffer.sampleRate,
    frames: buffer.length,
    channels: Array.from({ length: buffer.numberOfChannels }, (_, at) => buffer.getChannelData(at)),
  };
}

/** The columns of some frames of a clip, as the server makes them. */
export function computeWaveform(
  sound: DecodedAudio,
  from: number,
  to: number,
  most: number,
): Waveform {
  const stop = Math.max(1, Math.min(to, sound.frames));
  const start = Math.min(from, stop - 1);
  const count = Math.min(most, stop - start);
  const channels = sound.channels.map((samples) =>
    computeChannelWaveform(samples, start, stop, count),
  );
  return { sampleRate: sound.sampleRate, start, stop, channels };
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
    let [least, most, square] = [Infinity, -Infinity, 0];
    for (let at = first; at < end; at++) {
      const sample = samples[at] ?? 0;
      if (sample < least) least = sample;
      if (sample > most) most = sample;
      square += sample * sample;
    }
    low[column] = least;
    high[column] = most;
    rms[column] = Math.sqrt(square / (end - first));
  }
  return { low, high, rms };
}

/** The sizes of the frequencies in some samples, whose number is a power of two. */
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

  /** Adds to `power` that of each frequency around a frame; a sine from -1 to 1 has 1. */
  addPower(samples: Float32Array, first: number, power: Float64Array): void {
    const [re, im] = [this.#re, this.#im];
    for (let at = 0; at < this.size; at++) {
      re[at] = (samples[first + at] ?? 0) * (this.#window[at] ?? 0);
      im[at] = 0;
    }
    this.#shuffle();
    for (let half = 1; half < this.size; half *= 2) this.#combine(half);
    // The window lets half of the sound through, and half of that is below zero.
    const share = (4 / this.size) ** 2;
    for (let at = 0; at < power.length; at++)
      power[at] = (power[at] ?? 0) + ((re[at] ?? 0) ** 2 + (im[at] ?? 0) ** 2) * share;
  }

  #angle(at: number): number {
    return (-2 * Math.PI * at) / this.size;
  }

  /** Puts each sample where its number read backwards in bits says. */
  #shuffle(): void {
    const re = this.#re;
    for (let at = 1, other = 0; at < this.size; at++) {
      let bit = this.size >> 1;
      for (; other & bit; bit >>= 1) other ^= bit;
      other ^= bit;
      if (at >= other) continue;
      const kept = re[at] ?? 0;
      re[at] = re[other] ?? 0;
      re[other] = kept;
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
/** Transforms of one picture: a page must not stop for longer than a moment. */
const MAX_FFTS = 1500;

/** A picture of some frames of a clip, as the server makes it. */
export function computeSpectrogram(sound: DecodedAudio, ask: SpectrogramOptions): Spectrogram {
  const stop = Math.max(1, Math.min(ask.stop, sound.frames));
  const start = Math.min(ask.start, stop - 1);
  const width = Math.min(ask.width, stop - start);
  const window = ask.window ?? chooseWindow(sound.sampleRate, stop - start);
  const highHz = sound.sampleRate / 2;
  const { height, scale } = ask;
  const axis = { scale, lowHz: minFrequency(scale, highHz), highHz };
  const rows = binRanges(axis, height, window);
  const levels = new Uint8Array(width * height);
  const looks = fftsPerColumn(sound, (stop - start) / width, width, window);
  const transform = new WindowedFft(window);
  for (let column = 0; column < width; column++) {
    const power = new Float64Array(window / 2 + 1);
    for (let look = 0; look < looks; look++) {
      const middle = start + ((column + (look + 0.5) / looks) * (stop - start)) / width;
      const first = Math.floor(middle) - window / 2;
      for (const samples of sound.channels) transform.addPower(samples, first, power);
    }
    const share = 1 / (looks * sound.channels.length);
    rows.forEach(
      (row, at) => (levels[at * width + column] = powerToLevel(maxPower(power, row) * share)),
    );
  }
  const { sampleRate } = sound;
  return { ...axis, sampleRate, start, stop, width, height, lowDb: -RANGE_DB, highDb: 0, levels };
}

function fftsPerColumn(sound: DecodedAudio, span: number, width: number, window: number): number {
  const affordable = Math.floor(MAX_FFTS / (width * sound.channels.length));
  return Math.max(1, Math.min(affordable, Math.ceil(span / (window / 2))));
}

export function chooseWindow(sampleRate: number, frames: number): number {
  const wanted = Math.max(16, Math.min(sampleRate * WINDOW_S, frames / 4, 8192));
  return 2 ** Math.round(Math.log2(wanted));
}

function minFrequency(scale: FrequencyScaleType, highHz: number): number {
  return scale === 'log' ? Math.min(MIN_AUDIBLE_HZ, highHz / 10) : 0;
}

/** From where to where a row reaches, in numbers of frequencies of the transform. */
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

/** The loudest of the frequencies in a row, or what lies between two that are farther apart. */
function maxPower(power: Float64Array, [low, high]: BinRange): number {
  const middle = (low + high) / 2;
  const below = Math.min(power.length - 2, Math.floor(middle));
  const share = middle - below;
  let most = (power[below] ?? 0) * (1 - share) + (power[below + 1] ?? 0) * share;
  for (let at = Math.ceil(low); at < high; at++) most = Math.max(most, power[at] ?? 0);
  return most;
}

function powerToLevel(power: number): number {
  const db = 10 * Math.log10(Math.max(power, 1e-30));
  return Math.max(0, Math.min(255, Math.round(((db + RANGE_DB) * 255) / RANGE_DB)));
}

/** Decoded clips take a lot of memory, four bytes a sample, and are soon decoded again. */
const MAX_CACHED_SAMPLES = 32 << 20;

const NOT_DECODABLE = {
  message: 'The browser cannot decode this clip.',
  hint: 'Download it and open it in another program.',
};

/** The page itself: for what only the browser can decode, and for copies, which have no server. */
export class BrowserClipSource implements ClipSource {
  readonly #queries: QueryCache;
  /** In the order of use. */
  readonly #sounds = new Map<string, Promise<DecodedAudio>>();
  readonly #sizes = new Map<string, number>();

  constructor(queries: QueryCache) {
    this.#queries = queries;
  }

  async loadWaveform(
    clip: ClipAddress,
    { start, stop, columns }: WaveformOptions,
  ): Promise<Waveform> {
    return computeWaveform(await this.decode(clip), start, stop, columns);
  }

  async loadSpectrogram(clip: ClipAddress, ask: SpectrogramOptions): Promise<Spectrogram> {
    return computeSpectrogram(await this.decode(clip), ask);
  }

  decode(clip: ClipAddress): Promise<DecodedAudio> {
    const path = clipPath(clip);
    const known = this.#sounds.get(path);
    const sound = known ?? this.#decode(path, clip);
    this.#sounds.delete(path);
    this.#sounds.set(path, sound);
    return sound;
  }

  async #decode(
    path: string,
    { steps, position, part, sampleRate }: ClipAddress,
  ): Promise<DecodedAudio> {
    try {
      const request = { ...makeValueRequest(steps, position), part };
      const file = await this.#queries.fetch(clipFileQuery, request);
      const sound = await decodeAudio(await file.arrayBuffer(), sampleRate).catch(() => {
        throw new ServerError(NOT_DECODABLE, 0);
      });
      this.#sizes.set(path, sound.frames * sound.channels.length);
      this.#forgetOldest(path);
      return sound;
    } catch (error) {
      // A failure is not kept: the next attempt may succeed.
      this.#sounds.delete(path);
      throw error;
    }
  }

  #forgetOldest(newest: string): void {
    let samples = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const path of [...this.#sounds.keys()]) {
      if (samples <= MAX_CACHED_SAMPLES) return;
      const size = this.#sizes.get(path);
      // Those without a size are still being decoded.
      if (size === undefined || path === newest) continue;
      this.#sounds.delete(path);
      this.#sizes.delete(path);
      samples -= size;
    }
  }
}
