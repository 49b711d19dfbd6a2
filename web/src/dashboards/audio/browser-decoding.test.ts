import { describe, expect, it } from 'vitest';

import { makeFrequencyScale } from '../../charts/audio/audio-data';
import {
  chooseWindow,
  computeSpectrogram,
  computeWaveform,
  type DecodedAudio,
  WindowedFft,
} from './browser-decoding';

const RATE = 8000;

function tone(hz: number, height = 1, seconds = 1): Float32Array {
  const frames = seconds * RATE;
  return Float32Array.from(
    { length: frames },
    (_, at) => height * Math.sin((2 * Math.PI * hz * at) / RATE),
  );
}

const soundOf = (...channels: Float32Array[]): DecodedAudio => ({
  sampleRate: RATE,
  frames: channels[0]?.length ?? 0,
  channels,
});

describe('a transform', () => {
  it('finds a tone, and how loud it is', () => {
    const power = new Float64Array(129);
    new WindowedFft(256).addPower(tone(1000, 0.5), 100, power);
    expect(power.indexOf(Math.max(...power))).toBe(32);
    expect(power[32]).toBeCloseTo(0.25, 3);
    expect(power[64]).toBeCloseTo(0, 6);
  });

  it('hears silence beyond the ends', () => {
    const power = new Float64Array(9);
    new WindowedFft(16).addPower(Float32Array.of(1), 5, power);
    expect(Math.max(...power)).toBe(0);
  });
});

describe('a spectrogram made in the page', () => {
  const ask = { width: 20, height: 40, start: 0, stop: RATE, window: 256 } as const;

  it.each(['linear', 'log', 'mel'] as const)('has a tone where it sounds: %s', (scale) => {
    const picture = computeSpectrogram(soundOf(tone(1000)), { ...ask, scale });
    const column = Array.from({ length: 40 }, (_, row) => picture.levels[row * 20 + 10] ?? 0);
    const row = column.indexOf(Math.max(...column));
    const { toHz } = makeFrequencyScale(picture);
    expect(toHz(row / 40)).toBeLessThan(1040);
    expect(toHz((row + 1) / 40)).toBeGreaterThan(960);
    expect(Math.max(...column)).toBe(255);
  });

  it('does not take opposite channels for silence', () => {
    const sound = soundOf(tone(1000), tone(1000, -1));
    expect(Math.max(...computeSpectrogram(sound, { ...ask, scale: 'mel' }).levels)).toBe(255);
  });

  it('fits what is seen of the clip', () => {
    expect(chooseWindow(44_100, 44_100)).toBe(2048);
    expect(chooseWindow(44_100, 400)).toBe(128);
    const { width, levels } = computeSpectrogram(soundOf(Float32Array.of(1, 1)), {
      ...ask,
      window: null,
      scale: 'mel',
    });
    expect([width, levels.length]).toEqual([2, 80]);
  });
});

describe('a waveform made in the page', () => {
  it('has the samples of each column', () => {
    const sound = soundOf(Float32Array.of(0, 1, -1, 0.5, 0.25, 0.25));
    const { channels, start, stop } = computeWaveform(sound, 0, 6, 3);
    expect([start, stop]).toEqual([0, 6]);
    expect([...(channels[0]?.low ?? [])]).toEqual([0, -1, 0.25]);
    expect([...(channels[0]?.high ?? [])]).toEqual([1, 0.5, 0.25]);
    expect(channels[0]?.rms[2]).toBeCloseTo(0.25);
  });

  it('has every sample where there is room', () => {
    const { channels, stop } = computeWaveform(soundOf(Float32Array.of(1, 2, 3)), 1, 99, 50);
    expect([...(channels[0]?.low ?? [])]).toEqual([2, 3]);
    expect(stop).toBe(3);
  });
});
