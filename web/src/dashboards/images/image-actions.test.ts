import { expect, test } from 'vitest';

import { archivePath, imagePythonCode } from './image-actions';

test('an archive is named by tag and runs, whatever they are called', () => {
  expect(archivePath('a/b', [])).toBe('archive?tag=a%2Fb');
  expect(archivePath('x', ['r&1', 'r=2'])).toBe('archive?tag=x&run=r%261&run=r%3D2');
});

const READING = { roots: [{ name: '', path: '/logs' }], run: 'a "b"', tag: 'x', step: 20 };

test('the lines read the step that is seen, or the last', () => {
  const code = imagePythonCode(READING);
  expect(code).toContain('tracklight.open("/logs")');
  expect(code).toContain('log.images("a \\"b\\"", "x")');
  expect(code).toContain('images.at(20)');
  expect(imagePythonCode({ ...READING, step: null })).toContain('images[-1]');
});
