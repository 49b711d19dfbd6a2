/** Exports of a card and its menu. */
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
import { withCardValue } from '../../cards/card-grid.svelte';
import type { MenuItem } from '../../components/MenuItems.svelte';
import type { PrCurve } from './pr-curve';
import type { PrCurveCardState, PrCurvesDashboard } from './pr-curves-dashboard.svelte';
import * as common from '../../catalog/common';
import * as m from '../../catalog/pr_curves';

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

/** Return one row per curve and threshold; null where a value is undefined. */
export function makeCurvesTable(curves: readonly PrCurve[]): ExportTable {
  const rows = curves.flatMap(({ row }) => {
    const { run, tag, step, columns } = row;
    if (!columns) return [];
    return Array.from(columns.threshold, (_, index) => {
      const cells = NUMBER_COLUMNS.map((name) => finiteOrNull(columns[name]?.[index]));
      return [run, tag, step, ...cells];
    });
  });
  return { columns: ['run', 'tag', 'step', ...NUMBER_COLUMNS], rows };
}

function finiteOrNull(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

interface PythonOptions {
  readonly roots: readonly LogRoot[];
  readonly series: readonly { readonly run: string; readonly tag: string }[];
  /** null is the last step. */
  readonly step: number | null;
}

/** Return Python code that reads the curves of a card. */
export function curvesToPython({ roots, series, step }: PythonOptions): string {
  const selectCurve =
    step === null
      ? ['    curve = curves[-1]']
      : [`    curve = curves[(curves.step <= ${step}).nonzero()[0][-1]]  ${m.pythonLastUntil}`];
  return [
    ...openLogLines(roots),
    'for run, tag in [',
    ...series.map(({ run, tag }) => `    (${quotePython(run)}, ${quotePython(tag)}),`),
    ']:',
    '    curves = log.tensors(run, tag)',
    ...selectCurve,
    '    true_positives, false_positives, true_negatives, false_negatives = curve[:4]',
    `    precision, recall = curve[4:]  ${m.pythonThresholds}`,
    '',
  ].join('\n');
}

export function makeCardMenu(
  { settings }: PrCurvesDashboard,
  card: PrCurveCardState,
  getExporter: () => ImageExporter | null,
  showPython: () => void,
): readonly (readonly MenuItem[])[] {
  const { zooms } = settings;
  const { id, title } = card.card;
  const exportTable = (format: 'csv' | 'json'): MenuItem => ({
    label: format === 'csv' ? common.exportCsv : common.exportJson,
    disabled: card.curves.length === 0,
    run() {
      const table = makeCurvesTable(card.curves);
      const [text, type] =
        format === 'csv' ? [toCsv(table), 'text/csv'] : [toJson(table), 'application/json'];
      downloadBlob(new Blob([text], { type }), `${toFileName(title)}.${format}`);
    },
  });
  const resetZoom: MenuItem = {
    label: common.resetZoom,
    icon: 'fit',
    disabled: card.zoom === null,
    run: () => zooms.set(withCardValue(zooms.value, id, null)),
  };
  const python: MenuItem = { label: common.copyAsPython, run: showPython };
  return [
    [resetZoom],
    [exportTable('csv'), exportTable('json'), ...imageExportItems(getExporter, title), python],
  ];
}
