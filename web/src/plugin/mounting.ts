import { type Component, mount, unmount } from 'svelte';

import type { Context, Module } from './context';

/** The module of a dashboard that is one Svelte component with the context as its property. */
export function moduleOf(View: Component<{ context: Context }>): Module {
  return {
    mount(target, context) {
      const view = mount(View, { target, props: { context } });
      return () => void unmount(view);
    },
  };
}
