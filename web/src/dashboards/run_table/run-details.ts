/** Queries and texts of the run page and of the comparison of runs. */
import { defineQuery } from '../../api/query-definition';
import type { ChartsView } from '../../cards/card-sections';
import type { TagRow } from '../../api/schemas';
import * as m from '../../catalog/run_table';
import * as shell from '../../catalog/shell';
import { formatValue } from '../../lib/format';
import type { XAxis } from '../../plugin/context';
import type { CellValue } from './run-columns';

const REFRESH_MS = 2000;

export const runDetailsQuery = defineQuery('POST runs/details', {
  scope: ({ run }) => ({ runs: [run] }),
  minRefreshMs: REFRESH_MS,
});
export const compareQuery = defineQuery('POST runs/compare', {
  scope: ({ runs }) => ({ runs }),
  minRefreshMs: REFRESH_MS,
});
export const runFilesQuery = defineQuery('POST runs/files', {
  scope: ({ run }) => ({ runs: [run] }),
  minRefreshMs: REFRESH_MS,
});
export const filePreviewQuery = defineQuery('POST runs/preview', {
  scope: ({ run }) => ({ runs: [run] }),
  minRefreshMs: REFRESH_MS,
});
export const consoleQuery = defineQuery('POST runs/console', {
  scope: ({ run }) => ({ runs: [run] }),
  minRefreshMs: REFRESH_MS,
});

const PLAIN_VIEW: Omit<ChartsView, 'runs' | 'x'> = {
  smoothing: null,
  overwritten: false,
  baseline: null,
  groups: null,
  center: 'mean',
  band: 'std',
  min_runs: 1,
};

/** Return the settings of charts of some runs, whichever runs are selected in the page. */
export function makeRunsView(runs: readonly string[], x: XAxis): ChartsView {
  return { ...PLAIN_VIEW, runs, x };
}

export const SYSTEM_PREFIX = 'system/';

/** Dashboards that have the name of the plugin whose tags they show, and those of other plugins. */
const SAME_NAME = new Set([
  'scalars',
  'images',
  'audio',
  'text',
  'histograms',
  'pr_curves',
  'mesh',
  'hparams',
  'graphs',
]);
const DASHBOARD_OF_PLUGIN: Readonly<Record<string, string>> = {
  graph_run_metadata: 'graphs',
  graph_run_metadata_graph: 'graphs',
  graph_tagged_run_metadata: 'graphs',
  graph_keras_model: 'graphs',
  tracklight_fairness: 'fairness',
};

const DASHBOARD_TITLES: Readonly<Record<string, string>> = {
  scalars: shell.dashboardScalars,
  images: shell.dashboardImages,
  audio: shell.dashboardAudio,
  text: shell.dashboardText,
  histograms: shell.dashboardHistograms,
  pr_curves: shell.dashboardPrCurves,
  mesh: shell.dashboardMesh,
  hparams: shell.dashboardHparams,
  graphs: shell.dashboardGraphs,
  fairness: shell.dashboardFairness,
  profile: shell.dashboardProfile,
  debugger: shell.dashboardDebugger,
};

export function getDashboardTitle(name: string): string {
  return DASHBOARD_TITLES[name] ?? name;
}

/** Return the dashboards that show something of a run, with the number of its tags there. */
export function listDashboards(tags: readonly TagRow[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { plugin, kind, tag } of tags) {
    const ofPlugin = SAME_NAME.has(plugin) ? plugin : DASHBOARD_OF_PLUGIN[plugin];
    const name = kind === 'scalar' ? 'scalars' : ofPlugin;
    if (name !== undefined && (name === 'hparams' || !isRecord(tag)))
      counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** Return whether a tag has settings of HParams instead of something to be shown. */
export function isRecord(tag: string): boolean {
  return tag.startsWith('_hparams_/');
}

const FACT_TITLES: Readonly<Record<string, string>> = {
  command: m.columnCommand,
  directory: m.factDirectory,
  host: m.columnHost,
  user: m.columnUser,
  git_commit: m.columnCommit,
  platform: m.factPlatform,
  python: m.factPython,
};

/** Return the title of a fact about the environment; packages have their own names. */
export function getFactTitle(name: string): string {
  return FACT_TITLES[name] ?? name.replace(/^package:/, '');
}

export function formatPlainValue(value: CellValue): string {
  if (value === null) return '';
  if (value === '') return m.emptyValue;
  return typeof value === 'number' ? formatValue(value, 6) : String(value);
}

/** A node of the tree of hyperparameters: names with slashes or dots are nested. */
export interface ConfigNode {
  /** The display name of the hyperparameter, or the last part of its name. */
  readonly label: string;
  /** The full name of the hyperparameter; empty if the node only has others below it. */
  readonly name: string;
  readonly path: string;
  readonly value: CellValue | undefined;
  readonly children: readonly ConfigNode[];
}

/**
 * Arrange hyperparameters as a tree, such as `optimizer/lr` below `optimizer`. `getTitle` returns the
 * display name of a hyperparameter, or its name.
 */
export function makeConfigTree(
  config: readonly { readonly name: string; readonly value: CellValue }[],
  getTitle: (name: string) => string,
): readonly ConfigNode[] {
  interface Building {
    name: string;
    value: CellValue | undefined;
    readonly children: Map<string, Building>;
  }
  const create = (): Building => ({ name: '', value: undefined, children: new Map() });
  const root = create();
  for (const { name, value } of config) {
    let node = root;
    for (const part of name.split(/[/.]/).filter(Boolean)) {
      let child = node.children.get(part);
      if (!child) node.children.set(part, (child = create()));
      node = child;
    }
    node.name = name;
    node.value = value;
  }
  const finish = (node: Building, path: string): ConfigNode[] =>
    [...node.children].map(([part, child]) => {
      const title = getTitle(child.name);
      return {
        label: title === child.name ? part : title,
        name: child.name,
        path: `${path}/${part}`,
        value: child.value,
        children: finish(child, `${path}/${part}`),
      };
    });
  return finish(root, '');
}

export type DiffLineKind = 'added' | 'removed' | 'position' | 'same';

/** Return the lines of a unified diff with their kinds. */
export function splitDiff(diff: string): { readonly kind: DiffLineKind; readonly text: string }[] {
  return diff.split('\n').map((text) => ({ kind: getDiffLineKind(text), text }));
}

function getDiffLineKind(line: string): DiffLineKind {
  if (/^(\+\+\+|---|@@|diff |index )/.test(line)) return 'position';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : 'same';
}

export interface ConsoleSpan {
  readonly text: string;
  /** 0 to 7, bright colors 8 to 15; null is the color of text. */
  readonly color: number | null;
  readonly bold: boolean;
}

// eslint-disable-next-line no-control-regex -- escape sequences begin with this character
const COLOR_SEQUENCE = /\u001b\[([0-9;]*)m/g;

/** Split a line of a console at the escape sequences of colors (ECMA-48 SGR). */
export function splitColors(line: string): readonly ConsoleSpan[] {
  const spans: ConsoleSpan[] = [];
  let [color, bold]: [number | null, boolean] = [null, false];
  let at = 0;
  const add = (text: string): void => {
    if (text !== '') spans.push({ text, color, bold });
  };
  for (const match of line.matchAll(COLOR_SEQUENCE)) {
    add(line.slice(at, match.index));
    at = match.index + match[0].length;
    for (const code of (match[1] ?? '').split(';').map(Number)) {
      if (code === 0) [color, bold] = [null, false];
      else if (code === 1) bold = true;
      else if (code === 22) bold = false;
      else if (code === 39) color = null;
      else if (code >= 30 && code <= 37) color = code - 30;
      else if (code >= 90 && code <= 97) color = code - 82;
      // Colors of a palette or of three numbers are shown in the color of text.
      else if (code === 38 || code === 48) break;
    }
  }
  add(line.slice(at));
  return spans;
}
