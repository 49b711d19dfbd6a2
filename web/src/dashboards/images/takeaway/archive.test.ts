import { expect, test } from 'vitest';

import { archivePath } from './archive';

test('an archive is named by tag and runs, whatever they are called', () => {
  expect(archivePath('a/b', [])).toBe('archive?tag=a%2Fb');
  expect(archivePath('x', ['r&1', 'r=2'])).toBe('archive?tag=x&run=r%261&run=r%3D2');
});
