import { describe, expect, it } from 'vitest';

import type { ClipInfo } from '../../api/schemas';
import {
  audioPythonCode,
  chooseClipSource,
  describeEncoding,
  fileExtension,
  findAudioFormat,
  isPlayable,
} from './clip-info';

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
    expect([BROKEN, UNKNOWN].map((clip) => chooseClipSource(clip, true))).toEqual(['none', 'none']);
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
  expect([WAV, MP3, UNKNOWN].map(fileExtension)).toEqual(['wav', 'mp3', 'bin']);
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
  expect(audioPythonCode({ roots, runs: ['a', 'b"c'], tag: 'voice' })).toBe(
    `import tracklight

log = tracklight.open("/logs")
for run in ["a", "b\\"c"]:
    clips = log.audio(run, "voice")  # clips.step: all steps
    sounds = clips[-1].to_arrays()  # each [frames, channels] in [-1, 1]; WAV only
`,
  );
});
