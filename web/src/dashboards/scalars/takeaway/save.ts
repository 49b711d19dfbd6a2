import { problemOf } from '../../../api/client';
import type { TableFormat } from '../../../api/scalars';
import { fileName, saveAs } from '../../../wall/takeaway/save';
import type { ScalarCard } from '../cards/card';
import type { Scalars } from '../scalars.svelte';

/** The points of one card as a file. */
export function saveCardTable(
  scalars: Scalars,
  card: ScalarCard,
  format: TableFormat,
): Promise<void> {
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
