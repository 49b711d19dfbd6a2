import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

/** What every dashboard stands on comes as one file: forty small ones took the page longer to ask for. */
const PARTS = /\/src\/(lib|api|charts|components|plugin|cards|scalar-cards)\/|\/node_modules\/svelte\//;

export default defineConfig({
  // The page may live under any path, so it refers to its own parts relatively.
  base: './',
  plugins: [svelte()],
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
      output: { manualChunks: (id) => (PARTS.test(id) ? 'parts' : undefined) },
    },
  },
  server: { proxy: { '/api': 'http://localhost:6006' } },
  // Module state is created per test, so files may share a worker; isolating them costs six times the CPU.
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['src/**/*.test.ts'], exclude: ['src/**/*.svelte.test.ts'] },
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
