import type { Point } from '../pen/pen';
import { frequenciesOf } from './frequency';
import type { SoundLayout } from './layout';
import type { Spectrogram, Waveform } from './types';

/** What is at a place of a chart. */
export interface Told {
  readonly seconds: number;
  /** Lowest and highest sample around there, where the pointer is on a waveform. */
  readonly samples: readonly [number, number] | null;
  /** Where it is on the spectrogram. */
  readonly tone: { readonly hz: number; readonly db: number } | null;
}

export function tellAt(
  at: Point,
  layout: SoundLayout,
  waveform: Waveform | null,
  spectrogram: Spectrogram | null,
): Told {
  const seconds = layout.x.scale.valueAt(at.x);
  return {
    seconds,
    samples: waveform && samplesAt(at, seconds, layout, waveform),
    tone: spectrogram && toneAt(at, seconds, layout, spectrogram),
  };
}

function samplesAt(
  { y }: Point,
  seconds: number,
  { waves }: SoundLayout,
  { start, stop, sampleRate, channels }: Waveform,
): readonly [number, number] | null {
  const channel = channels[waves.findIndex(({ top, height }) => y >= top && y < top + height)];
  if (!channel) return null;
  const count = channel.low.length;
  const share = (seconds * sampleRate - start) / (stop - start);
  // With all samples there a column is a sample, and the nearest one is meant.
  const place = share * count + (count === stop - start ? 0.5 : 0);
  const column = Math.floor(place);
  const [low, high] = [channel.low[column], channel.high[column]];
  return low === undefined || high === undefined ? null : [low, high];
}

function toneAt(
  { y }: Point,
  seconds: number,
  { spectrum }: SoundLayout,
  spectrogram: Spectrogram,
): Told['tone'] {
  if (!spectrum || y < spectrum.top || y >= spectrum.top + spectrum.height) return null;
  const { width, height, start, stop, sampleRate, lowDb, highDb, levels } = spectrogram;
  const share = (seconds * sampleRate - start) / (stop - start);
  const place = 1 - (y - spectrum.top) / spectrum.height;
  const column = Math.floor(share * width);
  const row = Math.min(height - 1, Math.floor(place * height));
  const level = column < 0 || column >= width ? undefined : levels[row * width + column];
  if (level === undefined) return null;
  const db = lowDb + (level / 255) * (highDb - lowDb);
  return { hz: frequenciesOf(spectrogram).at(place), db };
}
