import type { MenuItem } from '../components/menu';

/** A chart that can be taken away as a picture. */
export interface ImageExporter {
  exportSvg(title: string): string;
  exportPng(title: string): Promise<Blob>;
}

/** Gives the user a file. */
export function downloadBlob(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  downloadUrl(address, name);
  // The browser has taken hold of the content by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Sends the browser for a file, which the server names unless a name is given. */
export function downloadUrl(address: string, name = ''): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
}

export async function downloadImage(
  pictures: ImageExporter | null,
  format: 'svg' | 'png',
  title: string,
): Promise<void> {
  if (!pictures) return;
  const picture =
    format === 'png'
      ? await pictures.exportPng(title)
      : new Blob([pictures.exportSvg(title)], { type: 'image/svg+xml' });
  downloadBlob(picture, `${toFileName(title)}.${format}`);
}

/** A title as a name that any file system takes. */
export function toFileName(title: string): string {
  return title.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^[._]+|_+$/g, '') || 'card';
}

/** Items of a card's menu that save its chart as a picture. */
export function imageExportItems(
  takePicture: () => ImageExporter | null,
  title: string,
): MenuItem[] {
  const disabled = takePicture() === null;
  return (['svg', 'png'] as const).map((format) => ({
    label: `Download ${format.toUpperCase()}`,
    disabled,
    run: () => void downloadImage(takePicture(), format, title),
  }));
}

/** Numbers as they are taken away. */
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

/** The first lines of Python that read what a card shows; `log` is the log. */
export function openLogLines(roots: readonly LogRoot[]): string[] {
  return ['import tracklight', '', `log = tracklight.open(${logdir(roots)})`];
}

function logdir(roots: readonly LogRoot[]): string {
  const [first, second] = roots;
  if (first && !second && first.name === '') return quotePython(first.path);
  return `{${roots.map(({ name, path }) => `${quotePython(name)}: ${quotePython(path)}`).join(', ')}}`;
}

/** A string as Python writes it, too. */
export function quotePython(text: string): string {
  return JSON.stringify(text);
}
