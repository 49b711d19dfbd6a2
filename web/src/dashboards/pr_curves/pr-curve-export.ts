import {
  downloadBlob,
  type ExportTable,
  type ImageExporter,
  imageExportItems,
  type LogRoot,
  openLogLines,
  quotePython,
  toCsv,
  toFileName,
  toJson,
} from '../../cards/export';
import { withCardValue } from '../../cards/grid-settings';
import type { MenuItem } from '../../components/menu';
import type { PrCurve } from './pr-curve';
import type { PrCurveCardState, PrCurvesDashboard } from './pr-curves-dashboard.svelte';

const NUMBER_COLUMNS = [
  'threshold',
  'true_positives',
  'false_positives',
  'true_negatives',
  'false_negatives',
  'precision',
  'recall',
  'f1',
  'false_positive_rate',
] as const;

/** One row for each threshold of each curve: all that is drawn, and the counts behind it; null where something is not defined. */
export function makeCurvesTable(curves: readonly PrCurve[]): ExportTable {
  const rows = curves.flatMap(({ row }) => {
    const { run, tag, step, columns } = row;
    if (!columns) return [];
    return Array.from(columns.threshold, (_, at) => {
      const cells = NUMBER_COLUMNS.map((name) => finiteOrNull(columns[name]?.[at]));
      return [run, tag, step, ...cells];
    });
  });
  return { columns: ['run', 'tag', 'step', ...NUMBER_COLUMNS], rows };
}

function finiteOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

/** What the lines of Python are to read. */
export interface CurvesSnippet {
  readonly roots: readonly LogRoot[];
  readonly series: readonly { readonly run: string; readonly tag: string }[];
  /** null: the last. */
  readonly step: number | null;
}

/** Lines of Python that read the same curves. */
export function curvesToPython({ roots, series, step }: CurvesSnippet): string {
  const pick =
    step === null
      ? ['    curve = curves[-1]']
      : [`    curve = curves[(curves.step <= ${step}).nonzero()[0][-1]]  # the last until then`];
  return [
    ...openLogLines(roots),
    'for run, tag in [',
    ...series.map(({ run, tag }) => `    (${quotePython(run)}, ${quotePython(tag)}),`),
    ']:',
    '    curves = log.tensors(run, tag)',
    ...pick,
    '    true_positives, false_positives, true_negatives, false_negatives = curve[:4]',
    '    precision, recall = curve[4:]  # at thresholds from 0 to 1',
    '',
  ].join('\n');
}

/** The menu of a card: what is seen of it, what is taken away. */
export function makeCardMenu(
  { settings }: PrCurvesDashboard,
  card: PrCurveCardState,
  takePicture: () => ImageExporter | null,
  showPython: () => void,
): readonly (readonly MenuItem[])[] {
  const { zooms } = settings;
  const { id, title } = card.card;
  const save = (format: 'csv' | 'json'): MenuItem => ({
    label: `Download ${format.toUpperCase()}`,
    disabled: card.curves.length === 0,
    run() {
      const table = makeCurvesTable(card.curves);
      const [text, type] =
        format === 'csv' ? [toCsv(table), 'text/csv'] : [toJson(table), 'application/json'];
      downloadBlob(new Blob([text], { type }), `${toFileName(title)}.${format}`);
    },
  });
  const fit: MenuItem = {
    label: 'Fit to data',
    icon: 'fit',
    disabled: card.zoom === null,
    run: () => zooms.set(withCardValue(zooms.value, id, null)),
  };
  const python: MenuItem = { label: 'Copy as Python …', run: showPython };
  return [[fit], [save('csv'), save('json'), ...imageExportItems(takePicture, title), python]];
}
