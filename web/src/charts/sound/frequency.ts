import type { Tick } from '../axis/ticks';
import { ticksOf } from '../axis/ticks';
import type { FrequencyScale, Spectrogram } from './types';

/** Frequencies on the side of a spectrogram, from 0 at its foot to 1 at its top. */
export interface Frequencies {
  placeOf(hz: number): number;
  at(place: number): number;
}

type Axis = Pick<Spectrogram, 'scale' | 'lowHz' | 'highHz'>;

const WARPS: Record<FrequencyScale, { to(hz: number): number; from(value: number): number }> = {
  linear: { to: (hz) => hz, from: (value) => value },
  log: { to: Math.log, from: Math.exp },
  mel: {
    to: (hz) => 2595 * Math.log10(1 + hz / 700),
    from: (value) => 700 * (10 ** (value / 2595) - 1),
  },
};

/** Frequencies that people like to read where they are not evenly spread. */
const ROUND_HZ = [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000];

export function frequenciesOf({ scale, lowHz, highHz }: Axis): Frequencies {
  const { to, from } = WARPS[scale];
  const [low, high] = [to(lowHz), to(highHz)];
  return {
    placeOf: (hz) => (to(hz) - low) / (high - low),
    at: (place) => from(low + place * (high - low)),
  };
}

/** Marks on the side, at least `gap` apart, which is a part of the height. */
export function frequencyTicks(axis: Axis, gap: number): Tick[] {
  const { placeOf } = frequenciesOf(axis);
  if (axis.scale === 'linear')
    return ticksOf('linear', 'number', [axis.lowHz, axis.highHz], Math.max(1, 1 / gap)).filter(
      ({ value }) => value > 0,
    );
  const ticks: Tick[] = [];
  let below = 0;
  for (const value of ROUND_HZ) {
    const place = placeOf(value);
    if (value < axis.lowHz || value > axis.highHz || place - below < gap) continue;
    ticks.push({ value, text: value < 1000 ? String(value) : `${value / 1000}k` });
    below = place;
  }
  return ticks;
}
