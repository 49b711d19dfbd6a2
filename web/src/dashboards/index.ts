import { encodeQuery } from '../api/transport';
import * as m from '../catalog/shell';
import { importWithMessages } from '../i18n/load';
import type { DashboardModule } from '../plugin/context';
import {
  type BuiltInDashboard,
  createDashboardModule,
  type DashboardView,
  type LoggingExample,
} from '../plugin/registry';
import type { ExampleName } from './examples';

/** The request with which the server starts to read the data file of a link to What-If. */
function listReadAhead(query: string): readonly string[] {
  const params = new URLSearchParams(query);
  const fields = {
    path: params.get('wi-file'),
    max_rows: params.get('wi-file-rows'),
    sampling_ratio: params.get('wi-file-ratio'),
    session: params.get('wi-data'),
  };
  // Types of columns do not fit into this request.
  return fields.path && !params.has('wi-file-types') ? [`read_ahead?${encodeQuery(fields)}`] : [];
}

/** The built-in dashboards. Tabs are ordered by group, and in a group as listed here. */
export const BUILT_IN: readonly BuiltInDashboard[] = [
  {
    name: 'scalars',
    title: m.dashboardScalars,
    group: 'metrics',
    loadExample: () => loadExample('scalars'),
    load: () => loadView('scalars', () => import('./scalars/View.svelte')),
  },
  {
    name: 'images',
    title: m.dashboardImages,
    group: 'media',
    loadExample: () => loadExample('images'),
    load: () => loadView('images', () => import('./images/View.svelte')),
  },
  {
    name: 'audio',
    title: m.dashboardAudio,
    group: 'media',
    loadExample: () => loadExample('audio'),
    load: () => loadView('audio', () => import('./audio/View.svelte')),
  },
  {
    name: 'text',
    title: m.dashboardText,
    group: 'media',
    loadExample: () => loadExample('text'),
    load: () => loadView('text', () => import('./text/View.svelte')),
  },
  {
    name: 'histograms',
    title: m.dashboardHistograms,
    group: 'model',
    loadExample: () => loadExample('histograms'),
    load: () =>
      loadView('histograms', () => import('./histograms/View.svelte'), { tab: 'histograms' }),
  },
  {
    name: 'distributions',
    title: m.dashboardDistributions,
    group: 'model',
    apiName: 'histograms',
    loadExample: () => loadExample('distributions'),
    load: () =>
      loadView('histograms', () => import('./histograms/View.svelte'), { tab: 'distributions' }),
  },
  {
    name: 'pr_curves',
    title: m.dashboardPrCurves,
    group: 'evaluation',
    loadExample: () => loadExample('pr_curves'),
    load: () => loadView('pr_curves', () => import('./pr_curves/View.svelte')),
  },
  {
    name: 'fairness',
    title: m.dashboardFairness,
    group: 'evaluation',
    loadExample: () => loadExample('fairness'),
    load: () => loadView('fairness', () => import('./fairness/View.svelte')),
  },
  {
    name: 'what_if',
    title: m.dashboardWhatIf,
    group: 'evaluation',
    opensFiles: true,
    isFullWidth: true,
    loadExample: () => loadExample('what_if'),
    prefetch: (query) => ['sessions', ...listReadAhead(query)],
    load: () => loadView('what_if', () => import('./what_if/View.svelte')),
  },
  {
    name: 'mesh',
    title: m.dashboardMesh,
    group: 'media',
    loadExample: () => loadExample('mesh'),
    load: () => loadView('mesh', () => import('./mesh/View.svelte')),
  },
  {
    name: 'custom_scalars',
    title: m.dashboardCustomScalars,
    group: 'metrics',
    isEditor: true,
    loadExample: () => loadExample('custom_scalars'),
    load: () => loadView('custom_scalars', () => import('./custom_scalars/View.svelte')),
  },
  {
    name: 'graphs',
    title: m.dashboardGraphs,
    group: 'model',
    opensFiles: true,
    loadExample: () => loadExample('graphs'),
    prefetch: () => ['list'],
    load: () => loadView('graphs', () => import('./graphs/View.svelte')),
  },
  {
    name: 'hparams',
    title: m.dashboardHparams,
    group: 'metrics',
    loadExample: () => loadExample('hparams'),
    // No prefetch: whether all trials are loaded depends on the number of runs.
    load: () => loadView('hparams', () => import('./hparams/View.svelte')),
  },
  {
    name: 'projector',
    title: m.dashboardProjector,
    group: 'model',
    loadExample: () => loadExample('projector'),
    load: () => loadView('projector', () => import('./projector/View.svelte')),
  },
  {
    name: 'debugger',
    title: m.dashboardDebugger,
    group: 'model',
    loadExample: () => loadExample('debugger'),
    prefetch: () => ['sources'],
    load: () => loadView('debugger', () => import('./debugger/View.svelte')),
  },
  {
    name: 'profile',
    title: m.dashboardProfile,
    group: 'performance',
    loadExample: () => loadExample('profile'),
    load: () => loadView('profile', () => import('./profile/View.svelte')),
  },
  {
    name: 'workspaces',
    title: m.dashboardWorkspaces,
    group: 'metrics',
    isAlwaysActive: true,
    load: () => loadView('workspaces', () => import('./workspaces/View.svelte')),
  },
  {
    name: 'runs',
    title: m.dashboardRuns,
    group: 'metrics',
    isAlwaysActive: true,
    isFullWidth: true,
    load: () => loadView('run_table', () => import('./run_table/View.svelte')),
  },
  {
    name: 'overview',
    title: m.dashboardOverview,
    group: 'metrics',
    apiName: 'scalars',
    isAlwaysActive: true,
    load: () => loadView('overview', () => import('./overview/View.svelte')),
  },
];

async function loadExample(name: ExampleName): Promise<LoggingExample> {
  return (await import('./examples')).EXAMPLES[name];
}

/** Load the component of a dashboard after the texts of its namespace. */
async function loadView<const Props extends object = object>(
  namespace: string,
  importView: () => Promise<{ readonly default: DashboardView<Props> }>,
  props?: Props,
): Promise<DashboardModule> {
  const { default: View } = await importWithMessages(namespace, importView);
  return createDashboardModule(View, props);
}
