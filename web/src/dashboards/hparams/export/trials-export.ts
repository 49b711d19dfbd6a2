import { toProblem } from '../../../api/errors';
import {
  downloadBlob,
  downloadImage,
  type ExportTable,
  type ImageExporter,
  toCsv,
} from '../../../cards/export';
import type { Size } from '../../../charts/axes/plot-layout';
import { LIGHT_THEME } from '../../../charts/renderer/chart-theme';
import { renderPng, renderSvg } from '../../../charts/renderer/image-export';
import type { Rect, Renderer } from '../../../charts/renderer/renderer';
import { formatPlural } from '../../../lib/format';
import type { HParamsDashboard } from '../hparams-dashboard.svelte';
import { VIEW_TITLES } from '../hparams-settings';
import { getColorRamp } from '../model/trial-colors';
import { hasValue, type TrialColumn } from '../model/trials';
import { type ColorLegendModel, drawColorLegend, makeColorLegend } from '../plots/color-legend';
import { drawPageText, type PageText, type PlotFigure, readPageTexts } from './plot-figures';

interface TrialsExportFormat {
  /** As the server calls it. */
  readonly name: string;
  readonly extension: string;
}

export const TRIALS_EXPORT_FORMATS: readonly {
  readonly name: string;
  readonly format: TrialsExportFormat;
}[] = [
  { name: 'CSV', format: { name: 'csv', extension: 'csv' } },
  { name: 'JSON', format: { name: 'json', extension: 'json' } },
  { name: 'LaTeX', format: { name: 'latex', extension: 'tex' } },
  { name: 'Markdown', format: { name: 'markdown', extension: 'md' } },
];

/** What is asked for: the columns and sessions that are shown, in their order. */
export function makeExportRequest(study: HParamsDashboard, word: string) {
  const { reduction, lastCount, step, repeats } = study.settings;
  const names = study.trialsQuery.data?.rows.names ?? [];
  return {
    format: word,
    columns: ['name', ...study.visibleColumns.map(({ key }) => key)],
    sessions: Array.from(study.sortedRows, (row) => names[row] ?? ''),
    how: reduction.value,
    n: lastCount.value,
    step: step.value,
    over: repeats.value === 'each' ? null : repeats.value,
  };
}

/** What a copy of a board carries by itself; it has no server to ask for the others. */
export const STATIC_EXPORT_FORMATS: readonly string[] = ['csv', 'json'];

export async function downloadTrials(
  study: HParamsDashboard,
  { name, extension }: TrialsExportFormat,
): Promise<void> {
  study.exportError = null;
  try {
    const file = study.context.isStatic
      ? serializeTrials(study, name)
      : await study.context.api.blob('export', makeExportRequest(study, name));
    downloadBlob(file, `sessions.${extension}`);
  } catch (error) {
    study.exportError = toProblem(error);
  }
}

function serializeTrials(study: HParamsDashboard, word: string): Blob {
  const sheet = makeTrialsSheet(study);
  return word === 'csv'
    ? new Blob([toCsv(sheet)], { type: 'text/csv' })
    : new Blob([serializeSheet(sheet)], { type: 'application/json' });
}

/** The plot above the table, as it is seen. */
export async function downloadPlot(study: HParamsDashboard, format: 'svg' | 'png'): Promise<void> {
  const { plotFigures, settings, objective, passingRows } = study;
  const view = settings.view.value;
  if (!plotFigures.root) return;
  const legend = view === 'importance' ? null : makeColorLegend(study);
  const title = [
    VIEW_TITLES[view],
    objective?.column.title,
    formatPlural(passingRows.length, 'session'),
  ];
  const picture = makePlotImage(plotFigures.root, plotFigures.all, legend);
  await downloadImage(picture, format, title.filter(Boolean).join(' · '));
}

/** The table as it is shown, in plain values. */
export function makeTrialsSheet({
  visibleColumns,
  trials,
  sortedRows,
}: HParamsDashboard): ExportTable {
  return {
    columns: ['name', ...visibleColumns.map(({ title }) => title)],
    rows: Array.from(sortedRows, (row) => [
      trials.names[row] ?? '',
      ...visibleColumns.map((column) => toSheetCell(column, row)),
    ]),
  };
}

function toSheetCell(column: TrialColumn, row: number): string | number | null {
  if (!hasValue(column, row)) return null;
  const number = column.values[row] ?? NaN;
  if (column.categories) return column.categories[number] ?? '';
  if (column.format === 'time')
    return Number.isFinite(number) ? new Date(number * 1000).toISOString() : null;
  return number;
}

/** As the server writes it: what is no number in JSON is a word. */
export function serializeSheet({ columns, rows }: ExportTable): string {
  const plain = rows.map((cells) =>
    cells.map((cell) => (typeof cell === 'number' && !Number.isFinite(cell) ? String(cell) : cell)),
  );
  return JSON.stringify({ header: columns, rows: plain });
}

const IMAGE_MARGIN_PX = 16;
const TITLE_FONT_PX = 15;
const TITLE_HEIGHT_PX = 36;
const LEGEND_HEIGHT_PX = 24;

/**
 * The plot as it stands on the page, on white paper: every figure at its place, the words around
 * them, and what their colours mean.
 */
export function makePlotImage(
  root: HTMLElement,
  figures: readonly PlotFigure[],
  legend: ColorLegendModel | null,
): ImageExporter | null {
  if (figures.length === 0) return null;
  const words = readPageTexts(root);
  const bounds = computeBounds([
    ...figures.map(({ element }) => element.getBoundingClientRect()),
    ...words.map(({ box }) => box),
  ]);
  const size = {
    width: Math.ceil(bounds.width + 2 * IMAGE_MARGIN_PX),
    height: Math.ceil(
      bounds.height + TITLE_HEIGHT_PX + (legend ? LEGEND_HEIGHT_PX : 0) + IMAGE_MARGIN_PX,
    ),
  };
  const draw = (title: string) => (pen: Renderer) => {
    pen.rect({ left: 0, top: 0, ...size }, { color: LIGHT_THEME.background });
    drawTitle(pen, title);
    const corner = { x: IMAGE_MARGIN_PX - bounds.left, y: TITLE_HEIGHT_PX - bounds.top };
    pen.translate(corner, () => drawPlot(pen, figures, words));
    if (legend) drawColorLegend(pen, legend, getLegendPosition(size), LIGHT_THEME);
  };
  return {
    exportSvg: (title) => renderSvg(size, title, draw(title)),
    exportPng: (title) => renderPng(size, draw(title)),
  };
}

function drawTitle(pen: Renderer, title: string): void {
  const style = { size: TITLE_FONT_PX, bold: true, color: LIGHT_THEME.text } as const;
  pen.text(title, IMAGE_MARGIN_PX, 12, { ...style, align: 'left', baseline: 'top' });
}

function drawPlot(pen: Renderer, figures: readonly PlotFigure[], words: readonly PageText[]): void {
  const inks = getColorRamp(false);
  for (const figure of figures) {
    const { left, top } = figure.element.getBoundingClientRect();
    pen.translate({ x: left, y: top }, () => figure.draw(pen, LIGHT_THEME, inks));
  }
  for (const word of words) drawPageText(pen, word, LIGHT_THEME);
}

function getLegendPosition({ width, height }: Size): { right: number; middle: number } {
  return { right: width - IMAGE_MARGIN_PX, middle: height - LEGEND_HEIGHT_PX / 2 - 4 };
}

function computeBounds(boxes: readonly Rect[]): Rect {
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  const right = Math.max(...boxes.map((box) => box.left + box.width));
  const foot = Math.max(...boxes.map((box) => box.top + box.height));
  return { left, top, width: right - left, height: foot - top };
}
