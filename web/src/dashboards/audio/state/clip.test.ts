import { expect, test } from 'vitest';

import { clipName, isSameClip, isSamePlace } from './clip';

const clip = { tag: 'a,b', run: 'run\\1', part: 2, step: 500 };

test.each([clip, { ...clip, step: null }, { ...clip, step: -3 }, null])(
  'a clip comes back from an address',
  (clip) => expect(clipName.parse(clipName.format(clip))).toEqual(clip),
);

test('what is no clip is none', () => {
  expect(clipName.parse('')).toBeNull();
  expect(clipName.parse('tag')).toBeNull();
  expect(clipName.parse('tag,run,x,y')).toEqual({ tag: 'tag', run: 'run', part: 0, step: null });
});

test('two steps of a place are two clips', () => {
  expect(isSamePlace(clip, { ...clip, step: 1 })).toBe(true);
  expect(isSameClip(clip, { ...clip, step: 1 })).toBe(false);
  expect(isSamePlace(clip, { ...clip, part: 0 })).toBe(false);
  expect(isSamePlace(clip, null)).toBe(false);
});
