import { frequenciesOf } from '../../../charts/sound/frequency';
import type { FrequencyScale, Spectrogram } from '../../../charts/sound/types';
import type { SpectrogramAsk } from '../data/drawer';
import type { Sound } from './sound';
import { Transform } from './transform';

const RANGE_DB = 120;
const WINDOW_S = 0.04;
const LOWEST_HEARD_HZ = 20;
/** Transforms of one picture: a page must not stop for longer than a moment. */
const MOST_TRANSFORMS = 1500;

/** A picture of some frames of a clip, as the server makes it. */
export function drawTones(sound: Sound, ask: SpectrogramAsk): Spectrogram {
  const stop = Math.max(1, Math.min(ask.stop, sound.frames));
  const start = Math.min(ask.start, stop - 1);
  const width = Math.min(ask.width, stop - start);
  const window = ask.window ?? chooseWindow(sound.sampleRate, stop - start);
  const highHz = sound.sampleRate / 2;
  const { height, scale } = ask;
  const axis = { scale, lowHz: lowestOf(scale, highHz), highHz };
  const rows = rowsOf(axis, height, window);
  const levels = new Uint8Array(width * height);
  const looks = countLooks(sound, (stop - start) / width, width, window);
  const transform = new Transform(window);
  for (let column = 0; column < width; column++) {
    const power = new Float64Array(window / 2 + 1);
    for (let look = 0; look < looks; look++) {
      const middle = start + ((column + (look + 0.5) / looks) * (stop - start)) / width;
      const first = Math.floor(middle) - window / 2;
      for (const samples of sound.channels) transform.add(samples, first, power);
    }
    const share = 1 / (looks * sound.channels.length);
    rows.forEach((row, at) => (levels[at * width + column] = levelOf(loudest(power, row) * share)));
  }
  const { sampleRate } = sound;
  return { ...axis, sampleRate, start, stop, width, height, lowDb: -RANGE_DB, highDb: 0, levels };
}

function countLooks(sound: Sound, span: number, width: number, window: number): number {
  const affordable = Math.floor(MOST_TRANSFORMS / (width * sound.channels.length));
  return Math.max(1, Math.min(affordable, Math.ceil(span / (window / 2))));
}

export function chooseWindow(sampleRate: number, frames: number): number {
  const wanted = Math.max(16, Math.min(sampleRate * WINDOW_S, frames / 4, 8192));
  return 2 ** Math.round(Math.log2(wanted));
}

function lowestOf(scale: FrequencyScale, highHz: number): number {
  return scale === 'log' ? Math.min(LOWEST_HEARD_HZ, highHz / 10) : 0;
}

/** From where to where a row reaches, in numbers of frequencies of the transform. */
type Row = readonly [number, number];

function rowsOf(
  axis: Pick<Spectrogram, 'scale' | 'lowHz' | 'highHz'>,
  height: number,
  window: number,
): Row[] {
  const { at } = frequenciesOf(axis);
  const edge = (row: number): number => (at(row / height) * (window / 2)) / axis.highHz;
  return Array.from({ length: height }, (_, row) => [edge(row), edge(row + 1)] as const);
}

/** The loudest of the frequencies in a row, or what lies between two that are farther apart. */
function loudest(power: Float64Array, [low, high]: Row): number {
  const middle = (low + high) / 2;
  const below = Math.min(power.length - 2, Math.floor(middle));
  const share = middle - below;
  let most = (power[below] ?? 0) * (1 - share) + (power[below + 1] ?? 0) * share;
  for (let at = Math.ceil(low); at < high; at++) most = Math.max(most, power[at] ?? 0);
  return most;
}

function levelOf(power: number): number {
  const db = 10 * Math.log10(Math.max(power, 1e-30));
  return Math.max(0, Math.min(255, Math.round(((db + RANGE_DB) * 255) / RANGE_DB)));
}
