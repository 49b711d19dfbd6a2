import { expect, test } from 'vitest';

import { pythonFor } from './python';

const READING = { roots: [{ name: '', path: '/logs' }], run: 'a "b"', tag: 'x', step: 20 };

test('the lines read the step that is seen, or the last', () => {
  const code = pythonFor(READING);
  expect(code).toContain('tracklight.open("/logs")');
  expect(code).toContain('log.images("a \\"b\\"", "x")');
  expect(code).toContain('images.at(20)');
  expect(pythonFor({ ...READING, step: null })).toContain('images[-1]');
});
