import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin, Rollup } from 'vite';
import { defineConfig } from 'vitest/config';

import { bundledPackages } from './tools/bundled-packages.js';
import { messages } from './tools/compile-messages.js';

/** Code that most dashboards use, without three.js. In two chunks, as many small ones take longer to load. */
const SHARED =
  /\/src\/(lib\/(?!colors\.)|api|charts\/(?!audio|histogram|webgl|points\/point-renderer)|components|plugin|cards|scalar-cards|dashboards\/scalars\/scalars-dashboard)|\/node_modules\/svelte\//;
/** The messages of that code. */
const SHARED_MESSAGES = /\/src\/catalog\/(cards|charts|common|scalars)\.ts$/;
/** Parts of cards that are loaded when they are first shown. */
const CARD_PARTS = /\/src\/(scalar-cards\/|cards\/(workspace\/|CardDialog))/;
/** What the page loads at first: its own code and that of the Scalars dashboard. */
const FIRST_ENTRIES = /\/src\/(app\.ts|dashboards\/scalars\/View\.svelte)$/;
/** A workspace mostly has curves, and does not wait for the code of other dashboards. */
const WORKSPACE_ENTRIES = /\/src\/dashboards\/workspaces\/(View|kinds\/ScalarsKind)\.svelte$/;
/** The entry loads the texts of the language before that code runs, so it must not import it. */
const LOCALE = /\/src\/(i18n\/|api\/prefetch\.ts)|vite\/preload-helper/;

let firstModules: Set<string> | null = null;
let workspaceModules: Set<string> | null = null;

const chooseChunk: Rollup.GetManualChunk = (id, { getModuleIds, getModuleInfo }) => {
  if (LOCALE.test(id)) return 'locale';
  if (!SHARED.test(id) && !SHARED_MESSAGES.test(id)) return undefined;
  const collect = (entries: RegExp): Set<string> =>
    collectImports(
      [...getModuleIds()].filter((other) => entries.test(other)),
      (other) => getModuleInfo(other)?.importedIds ?? [],
    );
  firstModules ??= collect(FIRST_ENTRIES);
  if (firstModules.has(id)) return 'parts';
  workspaceModules ??= collect(WORKSPACE_ENTRIES);
  if (workspaceModules.has(id)) return 'board';
  return CARD_PARTS.test(id) ? undefined : 'later-parts';
};

/** Return some modules and everything that they import, except dynamically. */
function collectImports(
  entries: readonly string[],
  getImports: (id: string) => readonly string[],
): Set<string> {
  const modules = new Set(entries);
  for (const id of modules) for (const imported of getImports(id)) modules.add(imported);
  return modules;
}

const APP = /\/src\/app\.ts$/;
const SCALARS_VIEW = /\/src\/dashboards\/scalars\/View\.svelte$/;

/**
 * Preload the page, which the entry imports only after the texts of its language are loaded, and
 * the Scalars dashboard, which the page imports only after it has been rendered.
 */
const preloadApp: Plugin = {
  name: 'preload-app',
  transformIndexHtml: {
    order: 'post',
    handler(html, { bundle, path }) {
      const chunks = Object.values(bundle ?? {}).filter((file) => file.type === 'chunk');
      const [app, scalars] = [APP, SCALARS_VIEW].map((entry) =>
        chunks.find(({ moduleIds }) => moduleIds.some((id) => entry.test(id))),
      );
      if (!app || !scalars || path !== '/index.html') return [];
      const imports = chunks.filter(({ fileName }) => app.imports.includes(fileName));
      const all = [app, ...imports, scalars];
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
  plugins: [svelte(), messages(), bundledPackages(), preloadApp],
  build: {
    outDir: '../tracklight/server/static',
    emptyOutDir: true,
    target: 'es2022',
    // The policy of the server allows no inline parts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
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
          // Generous, for machines that are busy with other work.
          testTimeout: 60_000,
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
          testTimeout: 60_000,
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
