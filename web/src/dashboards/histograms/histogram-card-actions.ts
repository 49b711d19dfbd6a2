/** Menu items of a card: view options, exports and Python code. */
import { toProblem } from '../../api/errors';
import {
  downloadBlob,
  type ImageExporter,
  imageExportItems,
  type LogRoot,
  openLogLines,
  quotePython,
  toFileName,
} from '../../cards/export';
import { toggleItem } from '../../cards/card-grid.svelte';
import type { MenuItem } from '../../components/MenuItems.svelte';
import type { HistogramCardModel, HistogramsState } from './histograms-state.svelte';
import type { TableFormat } from '../../api/schemas';
import * as common from '../../catalog/common';
import * as m from '../../catalog/histograms';

interface PythonSnippetOptions {
  readonly roots: readonly LogRoot[];
  readonly runs: readonly string[];
  readonly tag: string;
}

/** Return Python code that reads all buckets of the histograms of a card. */
export function makePythonSnippet({ roots, runs, tag }: PythonSnippetOptions): string {
  return [
    ...openLogLines(roots),
    `for run in [${runs.map(quotePython).join(', ')}]:`,
    `    histograms = log.histograms(run, ${quotePython(tag)}).without_overwritten()`,
    '    for step, histogram in zip(histograms.step, histograms):',
    '        print(run, step, histogram.edges_left, histogram.edges_right, histogram.counts)',
    '',
  ].join('\n');
}

/** Tables of buckets are made by the server. */
export function canExportBuckets({ context }: HistogramsState): boolean {
  return context.supports('POST histograms/table');
}

/** Download the buckets of one card, at the visible steps. */
function exportCardBuckets(
  state: HistogramsState,
  chart: HistogramCardModel,
  format: TableFormat,
): Promise<void> {
  const [start, stop] = chart.viewport?.steps ?? [null, null];
  const name = toFileName(chart.card.title);
  return exportBuckets(state, { tags: [chart.card.tag], start, stop, format }, name);
}

/** Download the buckets of all cards as one file. */
export function exportAllBuckets(state: HistogramsState, format: TableFormat): Promise<void> {
  const tags = [...new Set(state.sections.flatMap(({ cards }) => cards.map(({ tag }) => tag)))];
  return exportBuckets(state, { tags, start: null, stop: null, format }, m.exportFileName);
}

interface BucketExportOptions {
  readonly tags: readonly string[];
  readonly start: number | null;
  readonly stop: number | null;
  readonly format: TableFormat;
}

async function exportBuckets(
  state: HistogramsState,
  options: BucketExportOptions,
  name: string,
): Promise<void> {
  const { runs, x } = state.request;
  state.exportError = null;
  try {
    const file = await state.context.api.blob('table', { runs, x, ...options });
    downloadBlob(file, `${name}.${options.format}`);
  } catch (error) {
    state.exportError = toProblem(error);
    state.settings.panel.set(true);
  }
}

export function makeCardMenu(
  state: HistogramsState,
  chart: HistogramCardModel,
  getExporter: () => ImageExporter | null,
  showPython: () => void,
): readonly (readonly MenuItem[])[] {
  return [makeViewItems(state, chart), makeExportItems(state, chart, getExporter, showPython)];
}

/** Return the item that shows a card as a table. */
export function makeTableItem(
  { settings }: HistogramsState,
  { card, isTable }: HistogramCardModel,
): MenuItem {
  const { tables } = settings;
  const run = (): void => tables.set(toggleItem(tables.value, card.id));
  return { label: common.table, checked: isTable, run };
}

function makeViewItems({ settings, tab }: HistogramsState, chart: HistogramCardModel): MenuItem[] {
  const { logCounts, logValues, ignoreOutliers } = settings;
  const log = tab === 'histograms' ? logCounts : logValues;
  return [
    {
      label: tab === 'histograms' ? m.menuLogCounts : m.distributionsMenuLogValues,
      hint: 'y',
      checked: log.value,
      run: () => log.set(!log.value),
    },
    {
      label: m.menuIgnoreOutliers,
      checked: ignoreOutliers.value,
      run: () => ignoreOutliers.set(!ignoreOutliers.value),
    },
    {
      label: common.resetZoom,
      icon: 'fit',
      disabled: chart.viewport === null,
      run: () => chart.setViewport(null),
    },
  ];
}

function makeExportItems(
  state: HistogramsState,
  chart: HistogramCardModel,
  getExporter: () => ImageExporter | null,
  showPython: () => void,
): MenuItem[] {
  const table = (format: 'csv' | 'json'): MenuItem => ({
    label: format === 'csv' ? common.exportCsv : common.exportJson,
    run: () => void exportCardBuckets(state, chart, format),
  });
  return [
    ...(canExportBuckets(state) ? [table('csv'), table('json')] : []),
    ...imageExportItems(getExporter, chart.card.title),
    { label: common.copyAsPython, run: showPython },
  ];
}
