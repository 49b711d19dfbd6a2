import * as m from '../../catalog/charts';
import { makeTicks, type Tick } from '../axes/ticks';

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
