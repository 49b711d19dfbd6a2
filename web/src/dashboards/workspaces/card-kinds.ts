/** The kinds of cards that a workspace or report can show, and the component of each. */
import type { Component } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

import type { TagRow } from '../../api/schemas';
import * as shell from '../../catalog/shell';
import * as m from '../../catalog/workspaces';
import { importWithMessages } from '../../i18n/load';
import type { CardKind, CardKindProps, CardTarget, LoadedKind } from './card-context.svelte';

type Module = () => Promise<LoadedKind>;

/** Components that are loaded, by kind. */
const components = new SvelteMap<string, Component<CardKindProps>>();

/**
 * Return the component of a kind if it is loaded; reactive. Cards that wait for it are then created
 * together, which needs one layout of the page. Promises of their own would need one for each card.
 */
export function findComponent(kind: CardKind): Component<CardKindProps> | undefined {
  return components.get(kind.name);
}

async function loadComponent(name: string, namespace: string, load: Module): Promise<LoadedKind> {
  const module = await importWithMessages(namespace, load);
  components.set(name, module.default);
  return module;
}

function defineKind(
  name: string,
  label: string,
  listTargets: CardKind['listTargets'],
  load: Module,
  options: Partial<CardKind> & { readonly namespace?: string } = {},
): CardKind {
  const { namespace = name, ...rest } = options;
  return {
    name,
    label,
    apiName: name,
    hasSettings: true,
    listTargets,
    load: () => loadComponent(name, namespace, load),
    ...rest,
  };
}

/** Return a function that lists the tags of a plugin, or of scalars. */
function listTags(matches: (row: TagRow) => boolean): CardKind['listTargets'] {
  return ({ tags }) =>
    tags.rows.filter(matches).map(({ tag, display_name }) => ({
      target: tag,
      label: display_name || tag,
    }));
}

const ofPlugin = (plugin: string): CardKind['listTargets'] =>
  listTags((row) => row.plugin === plugin);

const HPARAMS_PLOTS: readonly CardTarget[] = [
  { target: 'parallel', label: m.plotParallel },
  { target: 'scatter', label: m.plotScatter },
  { target: 'importance', label: m.plotImportance },
  { target: 'slice', label: m.plotSlice },
  { target: 'contour', label: m.plotContour },
  { target: 'progress', label: m.plotHistory },
  { target: 'intermediate', label: m.plotIntermediate },
  { target: 'pareto', label: m.plotPareto },
  { target: 'distribution', label: m.plotDistribution },
  { target: 'timeline', label: m.plotTimeline },
  { target: 'table', label: m.plotTable },
];

export const CARD_KINDS: readonly CardKind[] = [
  defineKind(
    'scalars',
    m.kindScalars,
    listTags(({ kind }) => kind === 'scalar'),
    () => import('./kinds/ScalarsKind.svelte'),
  ),
  defineKind(
    'images',
    shell.dashboardImages,
    ofPlugin('images'),
    () => import('./kinds/ImagesKind.svelte'),
  ),
  defineKind(
    'audio',
    shell.dashboardAudio,
    ofPlugin('audio'),
    () => import('./kinds/AudioKind.svelte'),
  ),
  defineKind(
    'text',
    shell.dashboardText,
    ofPlugin('text'),
    () => import('./kinds/TextKind.svelte'),
  ),
  defineKind(
    'histograms',
    shell.dashboardHistograms,
    ofPlugin('histograms'),
    () => import('./kinds/HistogramCardKind.svelte'),
  ),
  defineKind(
    'distributions',
    shell.dashboardDistributions,
    ofPlugin('histograms'),
    () => import('./kinds/HistogramCardKind.svelte'),
    { namespace: 'histograms', apiName: 'histograms' },
  ),
  defineKind(
    'pr_curves',
    shell.dashboardPrCurves,
    ofPlugin('pr_curves'),
    () => import('./kinds/PrCurvesKind.svelte'),
  ),
  defineKind(
    'custom_scalars',
    shell.dashboardCustomScalars,
    () => [],
    () => import('./kinds/CustomScalarsKind.svelte'),
  ),
  defineKind(
    'mesh',
    shell.dashboardMesh,
    () => [],
    () => import('./kinds/MeshKind.svelte'),
  ),
  defineKind(
    'hparams',
    m.kindHparams,
    (context) => (context.isDashboardActive('hparams') ? HPARAMS_PLOTS : []),
    () => import('./kinds/HParamsKind.svelte'),
  ),
  defineKind(
    'runs',
    m.kindRuns,
    () => [{ target: 'table', label: m.kindRuns }],
    () => import('./kinds/RunsKind.svelte'),
    { namespace: 'run_table', hasSettings: false },
  ),
  defineKind(
    'note',
    m.kindNote,
    () => null,
    () => import('./kinds/NoteKind.svelte'),
    {
      namespace: 'text',
      hasSettings: false,
    },
  ),
];

const BY_NAME = new Map(CARD_KINDS.map((kind) => [kind.name, kind]));

/** Return a kind by name; undefined for kinds of other versions and of plugins. */
export function findCardKind(name: string): CardKind | undefined {
  return BY_NAME.get(name);
}
