import { describe, expect, it } from 'vitest';

import type { ClipRow } from '../data/answers';
import { factsOf, isPlayable, suffixOf, whoDraws } from './facts';

const WAV: ClipRow = {
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
const MP3: ClipRow = { ...WAV, content_type: 'audio/mpeg', frames: null, problem: 'no WAV' };
const BROKEN: ClipRow = { ...WAV, frames: null, problem: 'cut off' };
const UNKNOWN: ClipRow = { ...MP3, content_type: 'application/octet-stream' };

describe('who draws a clip', () => {
  it('is the server where it can', () => expect(whoDraws(WAV, false)).toBe('server'));
  it('is the page in a copy', () => expect(whoDraws(WAV, true)).toBe('page'));
  it('is the page for what browsers know', () => expect(whoDraws(MP3, false)).toBe('page'));
  it('is nobody for what is damaged or unknown', () => {
    expect([BROKEN, UNKNOWN].map((row) => whoDraws(row, false))).toEqual(['none', 'none']);
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
  expect([WAV, MP3, UNKNOWN].map(suffixOf)).toEqual(['wav', 'mp3', 'bin']);
});

it('a clip of which something is not known has no facts', () => {
  expect(factsOf(WAV)).toEqual({ sampleRate: 8000, frames: 100, channels: 1 });
  expect(factsOf(MP3)).toBeNull();
});
