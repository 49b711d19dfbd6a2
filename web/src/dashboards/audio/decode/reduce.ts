import type { Channel, Waveform } from '../../../charts/sound/types';
import type { Sound } from './sound';

/** The columns of some frames of a clip, as the server makes them. */
export function reduceSound(sound: Sound, from: number, to: number, most: number): Waveform {
  const stop = Math.max(1, Math.min(to, sound.frames));
  const start = Math.min(from, stop - 1);
  const count = Math.min(most, stop - start);
  const channels = sound.channels.map((samples) => reduceChannel(samples, start, stop, count));
  return { sampleRate: sound.sampleRate, start, stop, channels };
}

function reduceChannel(samples: Float32Array, start: number, stop: number, count: number): Channel {
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
