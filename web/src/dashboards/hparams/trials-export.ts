/** Export of the trials table as a file, and of the plot as an image. */
import { toProblem } from '../../api/errors';
import type { ExportFormat, ExportRequest } from '../../api/schemas';
import { downloadBlob, downloadImage, type ExportTable, toCsv } from '../../cards/export';
import * as common from '../../catalog/common';
import * as m from '../../catalog/hparams';
import type { HParamsDashboard } from './hparams-dashboard.svelte';
import { VIEW_TITLES } from './hparams-settings';
import { hasValue, type TrialColumn } from './model/trials';
import { makePlotImage } from './plot-export';

interface TrialsExportFormat {
  readonly format: ExportFormat;
  readonly label: string;
  readonly extension: string;
}

const SERVER_ROUTE = 'POST hparams/export';

const FORMATS: readonly TrialsExportFormat[] = [
  { format: 'csv', label: common.formatCsv, extension: 'csv' },
  { format: 'json', label: common.formatJson, extension: 'json' },
  { format: 'latex', label: common.formatLatex, extension: 'tex' },
  { format: 'markdown', label: common.formatMarkdown, extension: 'md' },
];

/** Without a server, the page writes CSV and JSON itself. */
export function listExportFormats({ context }: HParamsDashboard): readonly TrialsExportFormat[] {
  return context.supports(SERVER_ROUTE)
    ? FORMATS
    : FORMATS.filter(({ format }) => format === 'csv' || format === 'json');
}

/** Download the visible columns of the trials that pass the filters, in their order. */
export async function downloadTrials(
  dashboard: HParamsDashboard,
  { format, extension }: TrialsExportFormat,
): Promise<void> {
  dashboard.exportError = null;
  try {
    const file = dashboard.context.supports(SERVER_ROUTE)
      ? await dashboard.context.api.blob('export', makeExportRequest(dashboard, format))
      : serializeTrials(dashboard, format);
    downloadBlob(file, `trials.${extension}`);
  } catch (error) {
    dashboard.exportError = toProblem(error);
  }
}

function makeExportRequest(dashboard: HParamsDashboard, format: ExportFormat): ExportRequest {
  const { reduction, lastCount, step, repeats, study } = dashboard.settings;
  const names = dashboard.data?.rows.names ?? [];
  const { query } = dashboard.paged;
  return {
    format,
    columns: ['name', ...dashboard.visibleColumns.map(({ key }) => key)],
    ...(query
      ? { query }
      : { sessions: Array.from(dashboard.sortedRows, (row) => names[row] ?? '') }),
    reduction: reduction.value,
    count: lastCount.value,
    step: step.value,
    aggregation: repeats.value === 'each' ? null : repeats.value,
    study: study.value,
  };
}

function serializeTrials(dashboard: HParamsDashboard, format: ExportFormat): Blob {
  const table = makeExportTable(dashboard);
  return format === 'csv'
    ? new Blob([toCsv(table)], { type: 'text/csv' })
    : new Blob([serializeTable(table)], { type: 'application/json' });
}

/** The column titles are names in the log, so that files are the same in all languages. */
function makeExportTable({ visibleColumns, trials, sortedRows }: HParamsDashboard): ExportTable {
  return {
    columns: ['name', ...visibleColumns.map(getExportTitle)],
    rows: Array.from(sortedRows, (row) => [
      trials.names[row] ?? '',
      ...visibleColumns.map((column) => getExportValue(column, row)),
    ]),
  };
}

function getExportTitle({ kind, key, title }: TrialColumn): string {
  return kind === 'info' ? key : title;
}

function getExportValue(column: TrialColumn, row: number): string | number | null {
  if (!hasValue(column, row)) return null;
  const value = column.values[row] ?? NaN;
  if (column.categories) return column.categories[value] ?? '';
  const text = column.texts?.[row] ?? null;
  if (text !== null) return text;
  if (column.format === 'time')
    return Number.isFinite(value) ? new Date(value * 1000).toISOString() : null;
  return value;
}

/** Write JSON in the format of the server, with NaN and infinity as strings. */
function serializeTable({ columns, rows }: ExportTable): string {
  const plain = rows.map((cells) =>
    cells.map((cell) => (typeof cell === 'number' && !Number.isFinite(cell) ? String(cell) : cell)),
  );
  return JSON.stringify({ header: columns, rows: plain });
}

/** Download the plot of the current view. */
export async function downloadPlot(
  dashboard: HParamsDashboard,
  format: 'svg' | 'png',
): Promise<void> {
  const { plotFigures, settings, objective, passingRows, colorLegend } = dashboard;
  if (!plotFigures.root) return;
  const view = settings.view.value;
  const legend = view === 'importance' ? null : colorLegend;
  const title = m.exportPlotTitle({
    view: VIEW_TITLES[view],
    metric: objective?.column.title ?? common.noValueSymbol,
    count: passingRows.length,
  });
  const image = makePlotImage(plotFigures.root, plotFigures.all, legend);
  await downloadImage(image, format, title);
}
