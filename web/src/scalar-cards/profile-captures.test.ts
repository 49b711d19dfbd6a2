import { expect, it } from 'vitest';

import { captureFlags } from './profile-captures.svelte';

const ROWS = [
  { id: 'a', run: 'one', wall_s: 1_700_000_000, step: 20 },
  { id: 'b', run: 'two', wall_s: 1_700_000_100, step: null },
];

it('marks captures at their step, where that is known', () =>
  expect(captureFlags(ROWS, ['one', 'two'], 'step')).toEqual([
    { id: 'capture a', x: 20, text: 'profile of one' },
  ]));

it('marks captures at their time', () =>
  expect(captureFlags(ROWS, ['one', 'two'], 'wall').map(({ x }) => x)).toEqual([
    1_700_000_000, 1_700_000_100,
  ]));

it('marks those of runs that are drawn, on axes that they have a place on', () => {
  expect(captureFlags(ROWS, ['two'], 'wall')).toHaveLength(1);
  expect(captureFlags(ROWS, ['one'], 'metric:loss')).toEqual([]);
});

it('marks none where they would hide the lines', () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ ...ROWS[0], id: `${at}`, step: at }));
  expect(captureFlags(many as typeof ROWS, ['one'], 'step')).toEqual([]);
});
