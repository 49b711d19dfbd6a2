import { describe, expect, it, test } from 'vitest';

import type { ClipInfo } from '../../api/schemas';
import { makeFrequencyScale } from '../../charts/audio/audio-layout';
import {
  makeAudioPythonCode,
  chooseClipSource,
  clipRefCodec,
  describeEncoding,
  getFileExtension,
  findAudioFormat,
  isPlayable,
  isSameClip,
  isSameClipSlot,
} from './audio-state.svelte';
import {
  chooseWindow,
  computeSpectrogram,
  computeWaveform,
  type DecodedAudio,
  WindowedFft,
} from './browser-decoding';

describe('clip info', () => {
  const problem = { code: '', text: 'not a WAV file', args: {} };
  const WAV: ClipInfo = {
    label: '',
    bytes: 44,
    content_type: 'audio/wav',
    encoding: 'pcm',
    sample_rate: 8000,
    channels: 1,
    bits: 16,
    frames: 100,
    duration_s: 0.0125,
    problem: null,
  };
  const MP3: ClipInfo = {
    ...WAV,
    content_type: 'audio/mpeg',
    encoding: 'MP3',
    frames: null,
    problem,
  };
  const BROKEN: ClipInfo = { ...WAV, frames: null, problem };
  const UNKNOWN: ClipInfo = { ...MP3, content_type: 'application/octet-stream' };

  describe('chooseClipSource', () => {
    it('prefers the server', () => expect(chooseClipSource(WAV, true)).toBe('server'));
    it('decodes in the browser in an export', () =>
      expect(chooseClipSource(WAV, false)).toBe('browser'));
    it('decodes other formats in the browser', () =>
      expect(chooseClipSource(MP3, true)).toBe('browser'));
    it('has no source for damaged and unknown files', () => {
      expect([BROKEN, UNKNOWN].map((clip) => chooseClipSource(clip, true))).toEqual([
        'none',
        'none',
      ]);
    });
  });

  it('clips of unknown type and without samples are not playable', () => {
    expect([WAV, MP3, UNKNOWN, { ...WAV, frames: 0 }].map(isPlayable)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('the file extension follows the content type', () => {
    expect([WAV, MP3, UNKNOWN].map(getFileExtension)).toEqual(['wav', 'mp3', 'bin']);
  });

  it('the format is null if a property is unknown', () => {
    expect(findAudioFormat(WAV)).toEqual({ sampleRate: 8000, frames: 100, channels: 1 });
    expect(findAudioFormat(MP3)).toBeNull();
  });

  it('describes the encoding', () => {
    const encodings = ['pcm', 'float', 'mu-law', 'MP3'];
    expect(encodings.map((encoding) => describeEncoding({ ...WAV, encoding }))).toEqual([
      '16-bit',
      '16-bit float',
      'μ-law',
      'MP3',
    ]);
  });

  it('writes Python code that reads the clips', () => {
    const roots = [{ name: '', path: '/logs' }];
    expect(makeAudioPythonCode({ roots, runs: ['a', 'b"c'], tag: 'voice' })).toBe(
      `import tracklight

log = tracklight.open("/logs")
for run in ["a", "b\\"c"]:
    clips = log.audio(run, "voice")  # clips.step: all steps
    sounds = clips[-1].to_arrays()  # each [frames, channels] in [-1, 1]; WAV only
`,
    );
  });
});

describe('browser decoding', () => {
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
});

describe('audio settings', () => {
  const clip = { tag: 'a,b', run: 'run\\1', part: 2, step: 500 };

  test.each([clip, { ...clip, step: null }, { ...clip, step: -3 }, null])(
    'clips survive formatting and parsing: %j',
    (clip) => expect(clipRefCodec.parse(clipRefCodec.format(clip))).toEqual(clip),
  );

  test('invalid clips are rejected or completed', () => {
    expect(clipRefCodec.parse('')).toBeNull();
    expect(clipRefCodec.parse('tag')).toBeNull();
    expect(clipRefCodec.parse('tag,run,x,y')).toEqual({
      tag: 'tag',
      run: 'run',
      part: 0,
      step: null,
    });
  });

  test('clips of two steps have the same slot', () => {
    expect(isSameClipSlot(clip, { ...clip, step: 1 })).toBe(true);
    expect(isSameClip(clip, { ...clip, step: 1 })).toBe(false);
    expect(isSameClipSlot(clip, { ...clip, part: 0 })).toBe(false);
    expect(isSameClipSlot(clip, null)).toBe(false);
  });
});
