import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

import { bundledPackages } from './tools/bundled-packages.js';
import { messages } from './tools/compile-messages.js';

/** A notebook has colours of its own: ours are for the chart alone. */
const confineTokens: Plugin = {
  name: 'confine-tokens',
  enforce: 'pre',
  transform: (code, id) =>
    id.endsWith('/tokens.css') ? code.replace(':root', '.tracklight-chart') : undefined,
};

// The chart that a cell of a notebook shows: one module and one sheet of styles, which the kernel
// sends to wherever the notebook is.
export default defineConfig({
  plugins: [confineTokens, svelte(), messages(), bundledPackages()],
  publicDir: false,
  build: {
    outDir: '../tracklight/server/static/notebook',
    emptyOutDir: true,
    target: 'es2022',
    cssCodeSplit: false,
    // Relative imports do not work in a module that the kernel sends.
    rollupOptions: { output: { inlineDynamicImports: true } },
    lib: {
      entry: 'src/notebook/widget.ts',
      formats: ['es'],
      fileName: 'chart',
      cssFileName: 'chart',
    },
  },
});
