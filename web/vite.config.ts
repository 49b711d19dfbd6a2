import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

import { START, messages } from './tools/compile-messages.js';

/** Code that every dashboard uses is one chunk: forty small ones took longer to load. */
const PARTS =
  /\/src\/(lib|api|charts|components|plugin|cards|scalar-cards)\/|\/node_modules\/svelte\//;
/** So are the messages of that code. */
const PART_MESSAGES = new RegExp(`/src/catalog/(${START.join('|')})\\.ts$`);
/** The entry loads the texts of the language before that code runs, so it must not import it. */
const LOCALE = /\/src\/i18n\/|vite\/preload-helper/;

function chooseChunk(id: string): string | undefined {
  if (LOCALE.test(id)) return 'locale';
  return PARTS.test(id) || PART_MESSAGES.test(id) ? 'parts' : undefined;
}

/** Preload the page, which the entry imports only after the texts of its language are loaded. */
const preloadApp: Plugin = {
  name: 'preload-app',
  transformIndexHtml: {
    order: 'post',
    handler(html, { bundle, path }) {
      const chunks = Object.values(bundle ?? {}).filter((file) => file.type === 'chunk');
      const app = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith('/src/app.ts'));
      if (!app || path !== '/index.html') return [];
      const all = [app, ...chunks.filter(({ fileName }) => app.imports.includes(fileName))];
      const links = all.map(({ fileName }) => ({ rel: 'modulepreload', href: `./${fileName}` }));
      const styles = all
        .flatMap(({ viteMetadata }) => [...(viteMetadata?.importedCss ?? [])])
        .map((fileName) => ({ rel: 'stylesheet', href: `./${fileName}` }));
      const added = [...links, ...styles].filter(({ href }) => !html.includes(href));
      return added.map((attrs) => ({
        tag: 'link',
        attrs: { ...attrs, crossorigin: true },
        injectTo: 'head' as const,
      }));
    },
  },
};

export default defineConfig({
  // The page may live under any path, so it refers to its own parts relatively.
  base: './',
  plugins: [svelte(), messages(), preloadApp],
  build: {
    outDir: '../tracklight/server/static',
    emptyOutDir: true,
    target: 'es2022',
    // The policy of the server allows no inline parts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The gallery of parts is a page of its own, which nobody loads who does not ask for it.
    rollupOptions: {
      input: ['index.html', 'gallery.html'],
      output: {
        manualChunks: chooseChunk,
      },
    },
  },
  server: { proxy: { '/api': 'http://localhost:6006' } },
  // Module state is created per test, so files may share a worker; isolating them costs six times the CPU.
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'tools/*.test.js'],
          exclude: ['src/**/*.svelte.test.ts'],
        },
      },
      {
        extends: true,
        // Reactive state needs the runtime of the browser, not that for server rendering.
        resolve: { conditions: ['browser'] },
        test: {
          name: 'runes',
          include: ['src/**/*.svelte.test.ts'],
          environment: './vitest.environment.ts',
        },
      },
    ],
    pool: 'threads',
    isolate: false,
    coverage: {
      include: ['src/**/*.ts'],
      reporter: ['text-summary'],
      // Unit tests only; components are covered by browser tests. The floor may only rise.
      thresholds: { statements: 41 },
    },
  },
});
