import { expect, test } from 'vitest';

import { pythonSnippet } from './scalar-actions';

test('the code opens one directory by its path', () => {
  const code = pythonSnippet({
    roots: [{ name: '', path: '/logs "a"' }],
    runs: null,
    tags: ['loss'],
  });
  expect(code).toContain('tracklight.open("/logs \\"a\\"")');
  expect(code).toContain('tag=["loss"]');
  expect(code).not.toContain('run=');
});

test('the code opens several directories by name', () => {
  const roots = [
    { name: 'old', path: '/a' },
    { name: 'new', path: '/b' },
  ];
  const code = pythonSnippet({ roots, runs: ['old/x', 'new/y'], tags: ['loss', 'acc'] });
  expect(code).toContain('tracklight.open({"old": "/a", "new": "/b"})');
  expect(code).toContain('run=["old/x", "new/y"]');
});
