/** Files of the values on screen, and of the whole evaluation where there is a server. */
import type { FairnessExportFormat } from '../../api/schemas';
import { downloadBlob, type ExportTable, toCsv, toFileName, toJson } from '../../cards/export';
import * as m from '../../catalog/fairness';
import type { MenuItem } from '../../components/MenuItems.svelte';
import {
  type DifferenceRow,
  formatDifference,
  formatInterval,
  makeDifferenceRows,
} from './differences';
import { getSliceLabel } from './evaluation-model';
import { describeEvaluation, type FairnessState } from './fairness-state.svelte';
import { exportQuery } from './query';

const COLUMNS = [
  'slice',
  'metric',
  'threshold',
  'output',
  'value',
  'lower',
  'upper',
  'count',
  'baseline',
  'difference',
  'difference_lower',
  'difference_upper',
  'relative',
  'relative_lower',
  'relative_upper',
  'adjusted_p_value',
] as const;

export function makeDifferenceTable(rows: readonly DifferenceRow[]): ExportTable {
  return {
    columns: COLUMNS,
    rows: rows.map((row) => [
      row.slice,
      row.column.metric,
      row.column.threshold,
      row.column.output,
      ...[row.cell.value, row.cell.lower, row.cell.upper].map(finiteOrNull),
      row.count,
      ...[
        row.baseline,
        row.difference.value,
        row.difference.lower,
        row.difference.upper,
        row.relative.value,
        row.relative.lower,
        row.relative.upper,
        row.adjustedPValue,
      ].map(finiteOrNull),
    ]),
  };
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Return a Markdown table of the rows on screen. */
export function toMarkdown(
  rows: readonly DifferenceRow[],
  getLabel: (column: number) => string,
): string {
  const head = [m.slice, m.metric, m.value, m.difference, m.rows];
  const lines = rows.map((row) => [
    getSliceLabel(row.slice),
    getLabel(row.columnAt),
    formatInterval(row.cell),
    formatDifference(row.difference),
    String(row.count),
  ]);
  const format = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [format(head), `|${'---|'.repeat(head.length)}`, ...lines.map(format), ''].join('\n');
}

const FILES: Readonly<
  Record<FairnessExportFormat, { readonly extension: string; readonly type: string }>
> = {
  csv: { extension: 'csv', type: 'text/csv' },
  json: { extension: 'json', type: 'application/json' },
  markdown: { extension: 'md', type: 'text/markdown' },
};

export function makeExportMenu(board: FairnessState): readonly (readonly MenuItem[])[] {
  const { evaluation, result } = board;
  if (!evaluation || !result) return [];
  const name = toFileName(`fairness_${describeEvaluation(evaluation)}`);

  const saveShown = (format: FairnessExportFormat): void => {
    const differences = board.differenceQuery.data;
    if (!differences) return;
    const slices = board.slices.map((slice) => board.findSlice(slice));
    const rows = makeDifferenceRows(result, differences, slices);
    const text =
      format === 'markdown'
        ? toMarkdown(rows, (column) => board.getColumnLabel(column))
        : format === 'csv'
          ? toCsv(makeDifferenceTable(rows))
          : toJson(makeDifferenceTable(rows));
    const { extension, type } = FILES[format];
    downloadBlob(new Blob([text], { type }), `${name}.${extension}`);
  };
  const saveAll = async (format: FairnessExportFormat): Promise<void> => {
    const request = {
      id: evaluation.id,
      model: board.settings.model.value,
      format,
      baseline: board.baseline,
    };
    const file = await board.context.queries.fetch(exportQuery, request);
    downloadBlob(file, `${name}_all.${FILES[format].extension}`);
  };
  const shown: MenuItem[] = [
    { label: m.exportShownCsv, run: () => saveShown('csv') },
    { label: m.exportShownJson, run: () => saveShown('json') },
    { label: m.exportShownMarkdown, run: () => saveShown('markdown') },
  ];
  if (!board.context.supports('GET fairness/export')) return [shown];
  return [
    shown,
    [
      { label: m.exportAllCsv, run: () => void saveAll('csv') },
      { label: m.exportAllJson, run: () => void saveAll('json') },
      { label: m.exportModelCard, run: () => void saveAll('markdown') },
    ],
  ];
}
