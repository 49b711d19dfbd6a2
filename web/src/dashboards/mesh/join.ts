import type { Stamp, TagRow } from '../../api/types';

const TAG = /^(?<name>.*)_(?<part>VERTEX|FACE|COLOR)(?<again>_\d+)?$/s;

/** The mesh that a series belongs to; `tracklight/analysis/meshes.py` does the same. */
export function meshOf(tag: string): string {
  const found = TAG.exec(tag)?.groups;
  return found ? (found.name ?? '') + (found.again ?? '') : tag;
}

/** One row a mesh, of the up to three series that each is logged as; in the order given. */
export function joinRows(rows: readonly TagRow[]): readonly TagRow[] {
  const joined = new Map<string, TagRow>();
  for (const row of rows) {
    const tag = meshOf(row.tag);
    const known = joined.get(tag);
    joined.set(tag, known ? joinPair(known, row) : { ...row, tag, display_name: nameOf(row, tag) });
  }
  return [...joined.values()];
}

/** Writers give the series its own name where a person has given none. */
function nameOf({ display_name, tag }: TagRow, name: string): string {
  return display_name === tag || display_name === name ? '' : display_name;
}

function joinPair(one: TagRow, other: TagRow): TagRow {
  return {
    ...one,
    runs: Math.max(one.runs, other.runs),
    count: Math.max(one.count, other.count),
    overwritten: Math.max(one.overwritten, other.overwritten),
    first: pickStamp(one.first, other.first, (a, b) => a <= b),
    last: pickStamp(one.last, other.last, (a, b) => a >= b),
    description: one.description || other.description,
  };
}

function pickStamp(
  one: Stamp | null,
  other: Stamp | null,
  isBetter: (one: number, other: number) => boolean,
): Stamp | null {
  if (!one || !other) return one ?? other;
  return isBetter(one.step, other.step) ? one : other;
}
