import { expect, test } from 'vitest';

import { chooseEvenly } from './columns';

const upTo = (count: number): Float64Array => Float64Array.from({ length: count }, (_, at) => at);

test('few are all taken', () => {
  expect(chooseEvenly([3, 1, 2], 5)).toEqual([3, 1, 2]);
});

test('of many, the first, the last and evenly between', () => {
  expect(chooseEvenly(upTo(101), 5)).toEqual([0, 25, 50, 75, 100]);
  const chosen = chooseEvenly(upTo(10_000), 7);
  expect(chosen[0]).toBe(0);
  expect(chosen.at(-1)).toBe(9999);
  expect(new Set(chosen).size).toBe(7);
});

test('one of many is the last', () => {
  expect(chooseEvenly(upTo(9), 1)).toEqual([8]);
});
