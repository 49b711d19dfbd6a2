import { type Component, mount, unmount } from 'svelte';

import type { Context, DashboardModule } from './context';
import DashboardRoot from './DashboardRoot.svelte';

/** A dashboard that comes with the page. Its code is loaded when it is opened. */
export interface BuiltInDashboard {
  readonly name: string;
  readonly title: string;
  /** Whose server half it asks; its own unless it says otherwise. */
  readonly apiName?: string;
  /** True for one that has something to show whatever is in the log. */
  readonly isAlwaysActive?: boolean;
  /** True for one in which something can be made, so that it is of use without data of its own. */
  readonly isEditor?: boolean;
  /** Three lines of code that give it something to show, told while there is nothing. */
  readonly example?: string;
  /** The first thing that it asks its server half, where the page's query tells. */
  prefetch?(query: string): string | null;
  load(): Promise<DashboardModule>;
}

/** Anybody else's dashboard: a module that the server hands out. */
export async function loadDashboardModule(url: string): Promise<DashboardModule> {
  const module: unknown = await import(/* @vite-ignore */ new URL(url, document.baseURI).href);
  if (!isDashboardModule(module)) throw new TypeError(`${url} has no function "mount"`);
  return module;
}

function isDashboardModule(module: unknown): module is DashboardModule {
  return (
    typeof module === 'object' &&
    module !== null &&
    'mount' in module &&
    typeof module.mount === 'function'
  );
}

/** The module of a dashboard that is one Svelte component with the context as its property. */
export function createDashboardModule(View: Component<{ context: Context }>): DashboardModule {
  return {
    mount(target, context) {
      const view = mount(DashboardRoot, { target, props: { View, context } });
      return () => void unmount(view);
    },
  };
}
