import { describe, expect, it } from 'vitest';

import {
  getAudioHoverInfo,
  layoutAudio,
  makeFrequencyScale,
  makeFrequencyTicks,
  panTimeRange,
  type Spectrogram,
  type Waveform,
  zoomTimeRange,
} from './audio-layout';
import { findPeakAmplitude, renderSpectrogram } from './audio-renderer';

const measure = (text: string): number => 6 * text.length;
const SIZE = { width: 442, height: 121 };
const PLAN = { channels: 2, hasSpectrogram: true, span: [0, 2] as const };

const spectrogram: Spectrogram = {
  sampleRate: 8000,
  start: 0,
  stop: 16_000,
  width: 4,
  height: 2,
  scale: 'linear',
  lowHz: 0,
  highHz: 4000,
  lowDb: -120,
  highDb: 0,
  levels: Uint8Array.of(0, 10, 20, 30, 255, 0, 0, 0),
};

const waveform: Waveform = {
  sampleRate: 8000,
  start: 0,
  stop: 16_000,
  channels: [
    {
      low: Float32Array.of(-1, -0.5),
      high: Float32Array.of(0.25, 0.5),
      rms: Float32Array.of(0.1, 0.2),
    },
    { low: Float32Array.of(0, NaN), high: Float32Array.of(0, NaN), rms: Float32Array.of(0, NaN) },
  ],
};

describe('layout', () => {
  it('channels are stacked, with the spectrogram below', () => {
    const { waveforms, spectrogram: spectrum, plotArea } = layoutAudio(PLAN, SIZE, measure);
    expect(plotArea).toEqual({ left: 34, top: 4, width: 400, height: 100 });
    expect(waveforms.map(({ top, height }) => [top, height])).toEqual([
      [4, 19],
      [23, 19],
    ]);
    expect(spectrum).toEqual({ left: 34, top: 47, width: 400, height: 57 });
  });

  it('waveforms fill the height without a spectrogram', () => {
    const plan = { channels: 1, hasSpectrogram: false, span: [0, 1] as const };
    expect(layoutAudio(plan, SIZE, measure).waveforms[0]?.height).toBe(100);
  });

  it('the x axis shows seconds', () => {
    const { x } = layoutAudio(PLAN, SIZE, measure);
    expect(x.ticks.map(({ label }) => label)).toContain('1 s');
    expect(x.scale.toPixel(1)).toBe(234);
  });
});

describe('frequencies', () => {
  it.each(['linear', 'log', 'mel'] as const)('come back on a %s scale', (scale) => {
    const lowHz = scale === 'log' ? 20 : 0;
    const { toPosition, toHz } = makeFrequencyScale({ scale, lowHz, highHz: 4000 });
    expect(toPosition(lowHz)).toBeCloseTo(0);
    expect(toPosition(4000)).toBeCloseTo(1);
    expect(toHz(toPosition(1234))).toBeCloseTo(1234);
  });

  it('frequency ticks have a minimum distance', () => {
    const axis = { scale: 'mel', lowHz: 0, highHz: 22_050 } as const;
    const ticks = makeFrequencyTicks(axis, 0.15);
    const { toPosition } = makeFrequencyScale(axis);
    const places = [0, ...ticks.map(({ value }) => toPosition(value))];
    expect(ticks.map(({ label }) => label)).toEqual(['500', '2k', '5k', '10k', '20k']);
    for (let at = 1; at < places.length; at++)
      expect((places[at] ?? 0) - (places[at - 1] ?? 0)).toBeGreaterThanOrEqual(0.15);
  });
});

describe('hover info', () => {
  const layout = layoutAudio(PLAN, SIZE, measure);

  it('shows the samples of the hovered channel', () => {
    expect(getAudioHoverInfo({ x: 334, y: 10 }, layout, waveform, spectrogram)).toEqual({
      seconds: 1.5,
      samples: [-0.5, 0.5],
      level: null,
    });
  });

  it('shows the level of the hovered frequency', () => {
    const { level } = getAudioHoverInfo({ x: 50, y: 60 }, layout, waveform, spectrogram);
    expect(level?.db).toBe(0);
    expect(level?.hz).toBeCloseTo(4000 * (1 - 13 / 57));
    expect(getAudioHoverInfo({ x: 430, y: 100 }, layout, null, spectrogram).level?.db).toBeCloseTo(
      -105.9,
      1,
    );
  });
});

describe('pixels', () => {
  it('start with the highest frequency and follow the levels', () => {
    const shades = new Uint8ClampedArray(1024).map((_, at) => Math.floor(at / 4));
    const { pixels, width, height } = renderSpectrogram(spectrogram, shades, 120);
    expect([width, height, pixels.length]).toEqual([4, 2, 32]);
    expect([0, 1, 4, 5, 6, 7].map((at) => pixels[4 * at])).toEqual([255, 0, 0, 10, 20, 30]);
    expect(renderSpectrogram(spectrogram, shades, 60).pixels[4 * 5]).toBe(0);
  });
});

describe('amplitude', () => {
  it('is the maximum of all samples', () => expect(findPeakAmplitude(waveform)).toBe(1));
});

describe('zoom', () => {
  it('keeps the position under the pointer', () => {
    expect(zoomTimeRange([0, 4], 1, 2, 4, 8000)).toEqual([0.5, 2.5]);
  });

  it('is limited to a few samples and to the whole clip', () => {
    const closest = zoomTimeRange([0, 4], 2, 1e9, 4, 8000);
    expect((closest?.[1] ?? 0) - (closest?.[0] ?? 0)).toBeCloseTo(0.001);
    expect(zoomTimeRange([1, 2], 1.5, 0.01, 4, 8000)).toBeNull();
  });

  it('stays within the clip', () => {
    expect(zoomTimeRange([0, 2], 0, 0.8, 4, 8000)).toEqual([0, 2.5]);
    expect(panTimeRange([1, 2], 9, 4)).toEqual([3, 4]);
    expect(panTimeRange([1, 2], -9, 4)).toEqual([0, 1]);
  });
});
