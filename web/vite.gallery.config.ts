import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

import { messages } from './tools/compile-messages.js';

// The component gallery, for development and tests. It is not part of the package.
export default defineConfig({
  base: './',
  plugins: [svelte(), messages()],
  build: {
    outDir: '../build/gallery',
    emptyOutDir: true,
    target: 'es2022',
    rollupOptions: { input: 'gallery.html' },
  },
});
