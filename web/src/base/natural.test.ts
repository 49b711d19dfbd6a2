import { expect, test } from 'vitest';

import { sortNatural } from './natural';

test.each([
  [['run', 'run1', 'run2', 'run10', 'run10a', 'runs']],
  [['lr1e-5', 'lr3e-4', 'lr1e-3', 'lr0.15', 'lr0.2', 'lr1', 'lr1e+2']],
  [['.', 'a', 'a/eval', 'a/train', 'a-2', 'a.b', 'ab']],
  [['Alpha', 'alpha', 'Beta', 'gamma']],
  [['run1', 'run02', 'run2', 'run10']],
])('the order is that of the server: %j', (names) => {
  expect(sortNatural([...names].reverse(), (name) => name)).toEqual(names);
});
