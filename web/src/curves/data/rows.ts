import type { AtRow } from '../../api/scalars';
import { lineId } from './drawing';

/** Rows by the id of the line that they are of. */
export function byLine(rows: readonly AtRow[]): ReadonlyMap<string, AtRow> {
  return new Map(rows.map((row) => [lineId(row.run, row.tag), row]));
}

/** Rows by their tag, with an empty list for a tag that has none. */
export function byTag<Row extends { readonly tag: string }>(
  tags: readonly string[],
  rows: readonly Row[],
): ReadonlyMap<string, readonly Row[]> {
  const found = new Map<string, Row[]>(tags.map((tag) => [tag, []]));
  for (const row of rows) found.get(row.tag)?.push(row);
  return found;
}

export function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
