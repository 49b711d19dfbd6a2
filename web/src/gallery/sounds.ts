import type { Spectrogram, Waveform } from '../charts/sound/types';

const RATE = 8000;
const COLUMNS = 600;
const ROWS = 128;

export const DURATION = 2;

/** A tone that swells and fades three times, on two channels. */
export function makeWaveform(channels: number): Waveform {
  const heights = Float32Array.from({ length: COLUMNS }, (_, at) => heightAt(at / COLUMNS));
  const channel = {
    low: heights.map((height) => -height),
    high: heights,
    rms: heights.map((height) => 0.6 * height),
  };
  return {
    sampleRate: RATE,
    start: 0,
    stop: RATE * DURATION,
    channels: Array.from({ length: channels }, () => channel),
  };
}

/** Tones that rise with it. */
export function makeSpectrogram(): Spectrogram {
  const levels = new Uint8Array(COLUMNS * ROWS);
  for (let row = 0; row < ROWS; row++)
    for (let column = 0; column < COLUMNS; column++) {
      const time = column / COLUMNS;
      const middle = 0.2 + 0.5 * ((3 * time) % 1);
      const away = Math.abs(row / ROWS - middle);
      levels[row * COLUMNS + column] = 60 + 190 * heightAt(time) * Math.exp(-away * 18);
    }
  const size = { width: COLUMNS, height: ROWS, levels };
  const axis = { scale: 'mel', lowHz: 0, highHz: RATE / 2, lowDb: -120, highDb: 0 } as const;
  return { sampleRate: RATE, start: 0, stop: RATE * DURATION, ...axis, ...size };
}

function heightAt(time: number): number {
  return 0.1 + 0.8 * Math.sin(Math.PI * ((3 * time) % 1)) ** 2;
}
