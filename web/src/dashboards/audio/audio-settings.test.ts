import { expect, test } from 'vitest';

import { clipRefCodec, isSameClip, isSameClipSlot } from './audio-settings';

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
