import { type Component, mount, unmount } from 'svelte';

import * as m from '../catalog/shell';
import type { Context, DashboardModule } from './context';
import DashboardBoundary from './DashboardBoundary.svelte';

/** Groups of dashboards, in the order of the navigation bar. */
export const DASHBOARD_GROUPS = [
  'metrics',
  'media',
  'model',
  'performance',
  'evaluation',
  'plugins',
] as const;

export type DashboardGroup = (typeof DASHBOARD_GROUPS)[number];

export const GROUP_LABELS: Readonly<Record<DashboardGroup, string>> = {
  metrics: m.groupMetrics,
  media: m.groupMedia,
  model: m.groupModel,
  performance: m.groupPerformance,
  evaluation: m.groupEvaluation,
  plugins: m.groupPlugins,
};

/** Code that logs data with one framework. */
export interface FrameworkExample {
  readonly framework: string;
  readonly code: string;
}

/** Code that logs data for a dashboard, for one framework or for several. */
export type LoggingExample = string | readonly FrameworkExample[];

/** A dashboard that is part of the page. Its code is loaded when it is opened. */
export interface BuiltInDashboard {
  readonly name: string;
  readonly title: string;
  readonly group: DashboardGroup;
  /** The dashboard whose server routes it uses, if not its own. */
  readonly apiName?: string;
  /** It shows all kinds of data, so it is active for every log. */
  readonly isAlwaysActive?: boolean;
  /** It shows no runs, or has a list of its own, so the runs panel is not shown beside it. */
  readonly isFullWidth?: boolean;
  /** Something can be created in it, so it is useful without data of its own. */
  readonly isEditor?: boolean;
  /** It opens files and models on request, so it needs neither runs nor data in the log. */
  readonly opensFiles?: boolean;
  /** Load code that logs data for it, shown while there is none. */
  loadExample?(): Promise<LoggingExample>;
  /** Paths of its first requests for a query string of the page, if they are known in advance. */
  prefetch?(query: string): readonly string[];
  load(): Promise<DashboardModule>;
}

/** Import the module of a plugin from the server. */
export async function loadDashboardModule(url: string): Promise<DashboardModule> {
  const module: unknown = await import(/* @vite-ignore */ new URL(url, document.baseURI).href);
  if (!isDashboardModule(module)) throw new TypeError(m.pluginNoMount({ url }));
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

/** The component of a built-in dashboard. */
export type DashboardView<Props extends object = object> = Component<{ context: Context } & Props>;

/** Return the module of a dashboard that is one Svelte component, with fixed props if it has any. */
export function createDashboardModule<const Props extends object = object>(
  View: DashboardView<Props>,
  viewProps?: Props,
): DashboardModule {
  return {
    mount(target, context) {
      const props = { View: View as DashboardView, viewProps, context };
      const view = mount(DashboardBoundary, { target, props });
      return () => void unmount(view);
    },
  };
}
