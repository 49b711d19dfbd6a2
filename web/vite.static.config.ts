import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

import { bundledPackages } from './tools/bundled-packages.js';
import { messages } from './tools/compile-messages.js';

// The page of a copy of a board: one plain script and one sheet of styles, as a page that was opened
// as a file may load neither modules nor further parts.
export default defineConfig({
  plugins: [svelte(), messages(), bundledPackages()],
  publicDir: false,
  build: {
    outDir: '../tracklight/server/static/copy',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      input: 'src/static.ts',
      output: {
        format: 'iife',
        inlineDynamicImports: true,
        entryFileNames: 'board.js',
        assetFileNames: 'board[extname]',
      },
    },
  },
});
