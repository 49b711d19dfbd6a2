import { problemOf } from '../../../api/client';
import type { TableFormat } from '../../../api/scalars';
import type { Card } from '../cards/card';
import type { Scalars } from '../scalars.svelte';
import type { Pictures } from './pictures';

/** The points of one card as a file. */
export function saveCardTable(scalars: Scalars, card: Card, format: TableFormat): Promise<void> {
  return saveTable(scalars, card.tags, format, fileName(card.title));
}

/** The points of all cards of the view as one file. */
export function saveViewTable(scalars: Scalars, format: TableFormat): Promise<void> {
  return saveTable(scalars, viewTags(scalars), format, 'scalars');
}

/** The tags of all cards. */
export function viewTags({ sections }: Scalars): string[] {
  return [...new Set(sections.flatMap(({ cards }) => cards.flatMap(({ tags }) => tags)))];
}

async function saveTable(
  scalars: Scalars,
  tags: readonly string[],
  format: TableFormat,
  name: string,
): Promise<void> {
  const { runs, smoothing, x, overwritten } = scalars.view;
  const ask = { runs, tags, format, smoothing, x, overwritten };
  scalars.trouble = null;
  try {
    saveAs(await scalars.context.api.blob('table', ask), `${name}.${format}`);
  } catch (error) {
    scalars.trouble = problemOf(error);
  }
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

function saveAs(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has taken hold of the content by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A title as a name that any file system takes. */
export function fileName(title: string): string {
  return title.replace(/[^\p{L}\p{N}._-]+/gu, '_').replace(/^[._]+|_+$/g, '') || 'scalars';
}
