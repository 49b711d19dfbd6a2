import * as common from '../catalog/common';
import type { MenuItem } from '../components/menu';

/** A chart that can be exported as an image. */
export interface ImageExporter {
  exportSvg(title: string): string;
  exportPng(title: string): Promise<Blob>;
}

/** Save content as a file. */
export function downloadBlob(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  downloadUrl(address, name);
  // The download has started by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Download a URL. The server names the file unless a name is given. */
export function downloadUrl(address: string, name = ''): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
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
      : new Blob([exporter.exportSvg(title)], { type: 'image/svg+xml' });
  downloadBlob(image, `${toFileName(title)}.${format}`);
}

/** Return a file name that is valid on all file systems. */
export function toFileName(title: string): string {
  return title.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^[._]+|_+$/g, '') || 'card';
}

/** Return menu items that export the chart of a card. */
export function imageExportItems(
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
