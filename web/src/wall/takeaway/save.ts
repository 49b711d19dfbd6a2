import type { Pictures } from './pictures';

/** Gives the user a file. */
export function saveAs(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  saveFrom(address, name);
  // The browser has taken hold of the content by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Sends the browser for a file, which the server names unless a name is given. */
export function saveFrom(address: string, name = ''): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
}

export async function savePicture(
  pictures: Pictures | null,
  format: 'svg' | 'png',
  title: string,
): Promise<void> {
  if (!pictures) return;
  const picture =
    format === 'png'
      ? await pictures.exportPng(title)
      : new Blob([pictures.exportSvg(title)], { type: 'image/svg+xml' });
  saveAs(picture, `${fileName(title)}.${format}`);
}

/** A title as a name that any file system takes. */
export function fileName(title: string): string {
  return title.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^[._]+|_+$/g, '') || 'card';
}
