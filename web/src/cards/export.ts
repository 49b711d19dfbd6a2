import * as common from '../catalog/common';
import type { PaperFormat } from '../charts/line/line-chart-export';
import type { MenuItem } from '../components/MenuItems.svelte';
import { downloadBlob, toFileName } from '../lib/browser';

export { downloadBlob, downloadUrl, toFileName } from '../lib/browser';

/** A chart that can be exported as an image. */
export interface ImageExporter {
  exportSvg(title: string): string | Promise<string>;
  exportPng(title: string): Promise<Blob>;
  /** Return an SVG with a size in millimeters; not all charts have it. */
  exportForPaper?(title: string, format: PaperFormat): Promise<string>;
}

export async function downloadImage(
  exporter: ImageExporter | null,
  format: 'svg' | 'png',
  title: string,
): Promise<void> {
  if (!exporter) return;
  const image =
    format === 'png'
      ? await exporter.exportPng(title)
      : new Blob([await exporter.exportSvg(title)], { type: 'image/svg+xml' });
  downloadBlob(image, `${toFileName(title)}.${format}`);
}

/** Return menu items that export the chart of a card. */
export function listImageExportItems(
  getExporter: () => ImageExporter | null,
  title: string,
): MenuItem[] {
  const disabled = getExporter() === null;
  return (['svg', 'png'] as const).map((format) => ({
    label: format === 'svg' ? common.exportSvg : common.exportPng,
    disabled,
    run: () => void downloadImage(getExporter(), format, title),
  }));
}

export interface ExportTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

export function toCsv({ columns, rows }: ExportTable): string {
  const lines = [columns, ...rows].map((cells) => cells.map(quoteCsvCell).join(','));
  return lines.join('\n') + '\n';
}

function quoteCsvCell(cell: string | number | null): string {
  const text = cell === null ? '' : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toJson({ columns, rows }: ExportTable): string {
  const objects = rows.map((cells) =>
    Object.fromEntries(columns.map((name, at) => [name, cells[at]])),
  );
  return JSON.stringify(objects, null, 1);
}

export interface LogRoot {
  readonly name: string;
  readonly path: string;
}

/** Return Python code that opens the log as `log`. */
export function openLogLines(roots: readonly LogRoot[]): string[] {
  return ['import tracklight', '', `log = tracklight.open(${logdir(roots)})`];
}

function logdir(roots: readonly LogRoot[]): string {
  const [first, second] = roots;
  if (first && !second && first.name === '') return quotePython(first.path);
  return `{${roots.map(({ name, path }) => `${quotePython(name)}: ${quotePython(path)}`).join(', ')}}`;
}

/** Return a Python string literal. */
export function quotePython(text: string): string {
  return JSON.stringify(text);
}
