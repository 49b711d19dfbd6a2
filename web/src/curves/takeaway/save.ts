import { problemOf } from '../../api/client';
import type { TableFormat } from '../../api/scalars';
import { fileName, saveAs } from '../../wall/takeaway/save';
import type { CurveCard } from '../card';
import type { CurveWall } from '../curve-wall.svelte';

/** The points of one card as a file. */
export function saveCardTable(
  curves: CurveWall,
  card: CurveCard,
  format: TableFormat,
): Promise<void> {
  return saveTable(curves, card.tags, format, fileName(card.title));
}

/** The points of all cards of the view as one file. */
export function saveViewTable(curves: CurveWall, format: TableFormat): Promise<void> {
  return saveTable(curves, viewTags(curves), format, curves.about.name);
}

/** The tags of all cards. */
export function viewTags({ sections }: CurveWall): string[] {
  return [...new Set(sections.flatMap(({ cards }) => cards.flatMap(({ tags }) => tags)))];
}

async function saveTable(
  curves: CurveWall,
  tags: readonly string[],
  format: TableFormat,
  name: string,
): Promise<void> {
  const { runs, smoothing, x, overwritten } = curves.view;
  const ask = { runs, tags, format, smoothing, x, overwritten };
  curves.trouble = null;
  try {
    saveAs(await curves.api.blob('table', ask), `${name}.${format}`);
  } catch (error) {
    curves.trouble = problemOf(error);
  }
}
