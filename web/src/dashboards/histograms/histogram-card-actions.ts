import { toProblem } from '../../api/errors';
import { downloadBlob, type ImageExporter, imageExportItems, toFileName } from '../../cards/export';
import { toggleItem } from '../../cards/grid-settings';
import type { MenuItem } from '../../components/menu';
import type { HistogramCardModel, HistogramsState } from './histograms-state.svelte';
import type { TableFormat } from '../../api/schemas';

/** What the lines of Python are to read. */
export interface PythonSnippetOptions {
  readonly roots: readonly { readonly name: string; readonly path: string }[];
  readonly runs: readonly string[];
  readonly tag: string;
}

/** Lines of Python that read the same histograms, every bucket of them. */
export function makePythonSnippet({ roots, runs, tag }: PythonSnippetOptions): string {
  return [
    'import tracklight',
    '',
    `log = tracklight.open(${formatLogdir(roots)})`,
    `for run in [${runs.map(quotePython).join(', ')}]:`,
    `    histograms = log.histograms(run, ${quotePython(tag)}).without_overwritten()`,
    '    for step, histogram in zip(histograms.step, histograms):',
    '        print(run, step, histogram.edges_left, histogram.edges_right, histogram.counts)',
    '',
  ].join('\n');
}

function formatLogdir(roots: PythonSnippetOptions['roots']): string {
  const [first, second] = roots;
  if (first && !second && first.name === '') return quotePython(first.path);
  return `{${roots.map(({ name, path }) => `${quotePython(name)}: ${quotePython(path)}`).join(', ')}}`;
}

/** A string as Python writes it, too. */
function quotePython(text: string): string {
  return JSON.stringify(text);
}

/** The buckets of one card, of the steps that are seen, as a file. */
export function exportCardBuckets(
  board: HistogramsState,
  chart: HistogramCardModel,
  format: TableFormat,
): Promise<void> {
  const [start, stop] = chart.viewport?.steps ?? [null, null];
  const name = toFileName(chart.card.title);
  return exportBuckets(board, { tags: [chart.card.tag], start, stop, format }, name);
}

/** The buckets of all cards of the view as one file. */
export function exportAllBuckets(board: HistogramsState, format: TableFormat): Promise<void> {
  const tags = [...new Set(board.sections.flatMap(({ cards }) => cards.map(({ tag }) => tag)))];
  return exportBuckets(board, { tags, start: null, stop: null, format }, 'histograms');
}

interface BucketExportOptions {
  readonly tags: readonly string[];
  readonly start: number | null;
  readonly stop: number | null;
  readonly format: TableFormat;
}

async function exportBuckets(
  board: HistogramsState,
  what: BucketExportOptions,
  name: string,
): Promise<void> {
  const { runs, x } = board.request;
  board.exportError = null;
  try {
    downloadBlob(
      await board.context.api.blob('table', { runs, x, ...what }),
      `${name}.${what.format}`,
    );
  } catch (error) {
    board.exportError = toProblem(error);
    board.settings.panel.set(true);
  }
}

/** The menu of a card: what is seen of it, and what is taken away. */
export function makeCardMenu(
  board: HistogramsState,
  chart: HistogramCardModel,
  takePicture: () => ImageExporter | null,
  readInPython: () => void,
): readonly (readonly MenuItem[])[] {
  return [makeViewItems(board, chart), makeExportItems(board, chart, takePicture, readInPython)];
}

/** What a card can be shown as. */
export function makeFormItems(
  { settings }: HistogramsState,
  { card, isTable }: HistogramCardModel,
): MenuItem[] {
  const { tables } = settings;
  const run = (): void => tables.set(toggleItem(tables.value, card.id));
  return [{ label: 'As a table', checked: isTable, run }];
}

function makeViewItems({ settings, tab }: HistogramsState, chart: HistogramCardModel): MenuItem[] {
  const { logCounts, logValues, ignoreOutliers } = settings;
  const log = tab === 'histograms' ? logCounts : logValues;
  return [
    {
      label:
        tab === 'histograms' ? 'Logarithmic counts, all cards' : 'Logarithmic values, all cards',
      hint: 'y',
      checked: log.value,
      run: () => log.set(!log.value),
    },
    {
      label: 'Ignore outliers, all cards',
      checked: ignoreOutliers.value,
      run: () => ignoreOutliers.set(!ignoreOutliers.value),
    },
    {
      label: 'Fit to data',
      icon: 'fit',
      disabled: chart.viewport === null,
      run: () => chart.setViewport(null),
    },
  ];
}

function makeExportItems(
  board: HistogramsState,
  chart: HistogramCardModel,
  takePicture: () => ImageExporter | null,
  readInPython: () => void,
): MenuItem[] {
  const table = (format: 'csv' | 'json'): MenuItem => ({
    label: `Download ${format.toUpperCase()}`,
    run: () => void exportCardBuckets(board, chart, format),
  });
  return [
    ...(board.context.isStatic ? [] : [table('csv'), table('json')]),
    ...imageExportItems(takePicture, chart.card.title),
    { label: 'Copy as Python …', run: readInPython },
  ];
}
