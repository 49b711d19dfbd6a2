import { expect, it } from 'vitest';

import { isLit, lightUp } from './light';

it('lights events by their names', () => {
  const light = lightUp(Int32Array.of(2), new Uint8Array(0));
  expect([0, 1, 2, 3].map((name) => isLit(light, name, 0))).toEqual([false, false, true, false]);
});

it('lights single events', () => {
  const light = lightUp(new Int32Array(0), Uint8Array.of(0b00000100, 0b00000001));
  const lit = Array.from({ length: 20 }, (_, event) => event).filter((at) => isLit(light, 0, at));
  expect(lit).toEqual([2, 8]);
});
