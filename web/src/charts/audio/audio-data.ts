import { makeTicks, type Tick } from '../axes/ticks';

/** What a chart of sound draws. It has never heard of runs or of HTTP. */

/** Of one channel the samples in each column of pixels; a column without any is NaN. */
export interface ChannelWaveform {
  readonly low: Float32Array;
  readonly high: Float32Array;
  /** The root of the mean square: how loud it is. */
  readonly rms: Float32Array;
}

/** Some frames of a clip. A channel that has as many columns as there are frames has all samples. */
export interface Waveform {
  readonly sampleRate: number;
  /** From the first to before the last, in frames. */
  readonly start: number;
  readonly stop: number;
  readonly channels: readonly ChannelWaveform[];
}

export type FrequencyScaleType = 'linear' | 'log' | 'mel';

/** How loud each frequency is: levels from 0 to 255, row by row, the lowest frequency first. */
export interface Spectrogram {
  readonly sampleRate: number;
  readonly start: number;
  readonly stop: number;
  readonly width: number;
  readonly height: number;
  readonly scale: FrequencyScaleType;
  readonly lowHz: number;
  readonly highHz: number;
  /** What the levels 0 and 255 stand for. */
  readonly lowDb: number;
  readonly highDb: number;
  readonly levels: Uint8Array;
}

/** Frequencies on the side of a spectrogram, from 0 at its foot to 1 at its top. */
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

/** Frequencies that people like to read where they are not evenly spread. */
const ROUND_HZ = [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

export function makeFrequencyScale({ scale, lowHz, highHz }: FrequencyAxis): FrequencyScale {
  const { to, from } = FREQUENCY_TRANSFORMS[scale];
  const [low, high] = [to(lowHz), to(highHz)];
  return {
    toPosition: (hz) => (to(hz) - low) / (high - low),
    toHz: (place) => from(low + place * (high - low)),
  };
}

/** Marks on the side, at least `gap` apart, which is a part of the height. */
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
    ticks.push({ value, label: value < 1000 ? String(value) : `${value / 1000}k` });
    below = place;
  }
  return ticks;
}
