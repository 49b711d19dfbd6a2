import { describe, expect, it } from 'vitest';

import { findPackage } from './bundled-packages.js';

describe('findPackage', () => {
  it('finds plain, scoped and nested packages', () => {
    expect(findPackage('/w/node_modules/svelte/src/a.js')).toBe('/w/node_modules/svelte');
    expect(findPackage('/w/node_modules/@floating-ui/dom/a.mjs')).toBe(
      '/w/node_modules/@floating-ui/dom',
    );
    expect(findPackage('/w/node_modules/a/node_modules/b/c.js')).toBe(
      '/w/node_modules/a/node_modules/b',
    );
  });

  it('finds packages of virtual modules and on Windows', () => {
    expect(findPackage('\0/w/node_modules/a/b.js?commonjs')).toBe('/w/node_modules/a');
    expect(findPackage('C:\\w\\node_modules\\a\\b.js')).toBe('C:/w/node_modules/a');
  });

  it('finds none for own modules', () => {
    expect(findPackage('/w/src/main.ts')).toBe(null);
  });
});
