import { expect, test } from 'vitest';

import { valuePath } from './client';

const STEPS = {
  run: 'a/b c',
  tag: "grid?&é'(1)",
  index: Int32Array.of(3, 8),
  step: Float64Array.of(0, 10),
  wallTime: Float64Array.of(0, 1),
  mark: Int32Array.of(11, 12),
};

test('an address names the value to the letter', () => {
  expect(valuePath('thumbnail', STEPS, 1, { part: 0, size: 256 })).toBe(
    "thumbnail?run=a%2Fb%20c&tag=grid%3F%26%C3%A9'(1)&index=8&mark=12&part=0&size=256",
  );
});
