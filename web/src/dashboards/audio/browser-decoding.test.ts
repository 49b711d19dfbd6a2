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

function makeTone(hz: number, amplitude = 1, seconds = 1): Float32Array {
  const frames = seconds * RATE;
  return Float32Array.from(
    { length: frames },
    (_, frame) => amplitude * Math.sin((2 * Math.PI * hz * frame) / RATE),
  );
}

const makeAudio = (...channels: Float32Array[]): DecodedAudio => ({
  sampleRate: RATE,
  frames: channels[0]?.length ?? 0,
  channels,
});

describe('WindowedFft', () => {
  it('finds the frequency and power of a tone', () => {
    const power = new Float64Array(129);
    new WindowedFft(256).addPower(makeTone(1000, 0.5), 100, power);
    expect(power.indexOf(Math.max(...power))).toBe(32);
    expect(power[32]).toBeCloseTo(0.25, 3);
    expect(power[64]).toBeCloseTo(0, 6);
  });

  it('treats samples beyond the ends as zero', () => {
    const power = new Float64Array(9);
    new WindowedFft(16).addPower(Float32Array.of(1), 5, power);
    expect(Math.max(...power)).toBe(0);
  });
});

describe('computeSpectrogram', () => {
  const options = { width: 20, height: 40, start: 0, stop: RATE, window: 256 } as const;

  it.each(['linear', 'log', 'mel'] as const)('shows a tone at its frequency: %s', (scale) => {
    const spectrogram = computeSpectrogram(makeAudio(makeTone(1000)), { ...options, scale });
    const column = Array.from({ length: 40 }, (_, row) => spectrogram.levels[row * 20 + 10] ?? 0);
    const row = column.indexOf(Math.max(...column));
    const { toHz } = makeFrequencyScale(spectrogram);
    expect(toHz(row / 40)).toBeLessThan(1040);
    expect(toHz((row + 1) / 40)).toBeGreaterThan(960);
    expect(Math.max(...column)).toBe(255);
  });

  it('adds the power of channels, not their samples', () => {
    const audio = makeAudio(makeTone(1000), makeTone(1000, -1));
    expect(Math.max(...computeSpectrogram(audio, { ...options, scale: 'mel' }).levels)).toBe(255);
  });

  it('adapts the window and the width to the number of frames', () => {
    expect(chooseWindow(44_100, 44_100)).toBe(2048);
    expect(chooseWindow(44_100, 400)).toBe(128);
    const { width, levels } = computeSpectrogram(makeAudio(Float32Array.of(1, 1)), {
      ...options,
      window: null,
      scale: 'mel',
    });
    expect([width, levels.length]).toEqual([2, 80]);
  });
});

describe('computeWaveform', () => {
  it('computes the range of each column', () => {
    const audio = makeAudio(Float32Array.of(0, 1, -1, 0.5, 0.25, 0.25));
    const { channels, start, stop } = computeWaveform(audio, { start: 0, stop: 6, columns: 3 });
    expect([start, stop]).toEqual([0, 6]);
    expect([...(channels[0]?.low ?? [])]).toEqual([0, -1, 0.25]);
    expect([...(channels[0]?.high ?? [])]).toEqual([1, 0.5, 0.25]);
    expect(channels[0]?.rms[2]).toBeCloseTo(0.25);
  });

  it('has one column per sample if there are few samples', () => {
    const { channels, stop } = computeWaveform(makeAudio(Float32Array.of(1, 2, 3)), {
      start: 1,
      stop: 99,
      columns: 50,
    });
    expect([...(channels[0]?.low ?? [])]).toEqual([2, 3]);
    expect(stop).toBe(3);
  });
});
