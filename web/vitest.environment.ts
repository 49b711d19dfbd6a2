import type { Environment } from 'vitest/environments';

/** Node with modules compiled for the browser, so that unit tests can use Svelte's runes. */
export default {
  name: 'node-with-runes',
  viteEnvironment: 'client',
  setup: () => ({ teardown: () => undefined }),
} satisfies Environment;
