import { expect, test } from 'vitest';

import { list } from '../../lib/codecs';
import { textPairCodec, defaultTextPair } from './text-settings';

const codec = textPairCodec(list);

function series(run: string, ...steps: number[]) {
  const column = Float64Array.from(steps);
  const whole = Int32Array.from(steps.keys());
  return { run, tag: 'words', index: whole, step: column, wallTime: column, mark: whole };
}

test.each([
  null,
  { before: { run: 'a,b', step: null }, after: { run: 'c', step: 40 } },
  { before: { run: '', step: 0 }, after: { run: '', step: -1 } },
])('a pair in an address is read as it was written', (pair) => {
  expect(codec.parse(codec.format(pair))).toEqual(pair);
});

test('a damaged address compares nothing', () => {
  expect(codec.parse('a')).toBe(null);
  expect(codec.parse('a,x,b,y')).toEqual({
    before: { run: 'a', step: null },
    after: { run: 'b', step: null },
  });
});

test('of two runs the same step is compared, of one its last two texts', () => {
  expect(defaultTextPair([], null)).toBe(null);
  expect(defaultTextPair([series('a', 1, 2), series('b', 1)], 2)).toEqual({
    before: { run: 'a', step: 2 },
    after: { run: 'b', step: 2 },
  });
  expect(defaultTextPair([series('a', 1, 5, 9)], null)).toEqual({
    before: { run: 'a', step: 5 },
    after: { run: 'a', step: null },
  });
  expect(defaultTextPair([series('a', 1)], null)?.before.step).toBe(1);
});
