import { describe, expect, it } from 'vitest';

import type { ClipInfo } from '../../api/schemas';
import { findAudioFormat, isPlayable, fileExtension, chooseClipSource } from './clip-info';

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
const MP3: ClipInfo = { ...WAV, content_type: 'audio/mpeg', frames: null, problem: 'no WAV' };
const BROKEN: ClipInfo = { ...WAV, frames: null, problem: 'cut off' };
const UNKNOWN: ClipInfo = { ...MP3, content_type: 'application/octet-stream' };

describe('who draws a clip', () => {
  it('is the server where it can', () => expect(chooseClipSource(WAV, false)).toBe('server'));
  it('is the page in a copy', () => expect(chooseClipSource(WAV, true)).toBe('page'));
  it('is the page for what browsers know', () => expect(chooseClipSource(MP3, false)).toBe('page'));
  it('is nobody for what is damaged or unknown', () => {
    expect([BROKEN, UNKNOWN].map((row) => chooseClipSource(row, false))).toEqual(['none', 'none']);
  });
});

it('only what browsers take for sound can be played', () => {
  expect([WAV, MP3, UNKNOWN, { ...WAV, frames: 0 }].map(isPlayable)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

it('a file is named after its kind', () => {
  expect([WAV, MP3, UNKNOWN].map(fileExtension)).toEqual(['wav', 'mp3', 'bin']);
});

it('a clip of which something is not known has no facts', () => {
  expect(findAudioFormat(WAV)).toEqual({ sampleRate: 8000, frames: 100, channels: 1 });
  expect(findAudioFormat(MP3)).toBeNull();
});
