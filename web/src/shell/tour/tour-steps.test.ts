import { expect, test } from 'vitest';

import { listSteps } from './tour-steps';

test('leaves out dashboards without data', () => {
  const all = listSteps(['scalars', 'runs', 'hparams', 'graphs', 'what_if']);
  const few = listSteps(['scalars']);
  expect(all.map(({ tab }) => tab)).toContain('graphs');
  expect(new Set(few.map(({ tab }) => tab))).toEqual(new Set(['scalars', null]));
  expect(few.length).toBeGreaterThan(3);
});

test('ends with a step that can be shown on any board', () => {
  expect(listSteps([]).at(-1)?.tab).toBeNull();
});
