import { expect, test } from 'vitest';

import { pythonFor } from './python';

const roots = [{ name: '', path: '/logs' }];
const series = [
  { run: 'a', tag: 'pr/"x"' },
  { run: 'b', tag: 'pr/"x"' },
];

test('every curve that is seen is read', () => {
  const code = pythonFor({ roots, series, step: null });
  expect(code).toContain('("a", "pr/\\"x\\""),\n    ("b", "pr/\\"x\\""),');
  expect(code).toContain('curves[-1]');
});

test('at a step it is the last one until then', () => {
  expect(pythonFor({ roots, series, step: 70 })).toContain('(curves.step <= 70).nonzero()[0][-1]');
});
