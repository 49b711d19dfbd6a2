import type { StampRow, TagRow } from '../../api/schemas';

const MESH_TAG = /^(?<name>.*)_(?<part>VERTEX|FACE|COLOR)(?<again>_\d+)?$/s;

/** The mesh that a series belongs to; `tracklight/analysis/meshes.py` does the same. */
export function getMeshName(tag: string): string {
  const found = MESH_TAG.exec(tag)?.groups;
  return found ? (found.name ?? '') + (found.again ?? '') : tag;
}

/** One row a mesh, of the up to three series that each is logged as; in the order given. */
export function mergeMeshTags(rows: readonly TagRow[]): readonly TagRow[] {
  const joined = new Map<string, TagRow>();
  for (const row of rows) {
    const tag = getMeshName(row.tag);
    const known = joined.get(tag);
    joined.set(
      tag,
      known ? mergeTagRows(known, row) : { ...row, tag, display_name: getDisplayName(row, tag) },
    );
  }
  return [...joined.values()];
}

/** Writers give the series its own name where a person has given none. */
function getDisplayName({ display_name, tag }: TagRow, name: string): string {
  return display_name === tag || display_name === name ? '' : display_name;
}

function mergeTagRows(one: TagRow, other: TagRow): TagRow {
  return {
    ...one,
    runs: Math.max(one.runs, other.runs),
    count: Math.max(one.count, other.count),
    overwritten: Math.max(one.overwritten, other.overwritten),
    first: chooseStamp(one.first, other.first, (a, b) => a <= b),
    last: chooseStamp(one.last, other.last, (a, b) => a >= b),
    description: one.description || other.description,
  };
}

function chooseStamp(
  one: StampRow | null,
  other: StampRow | null,
  isBetter: (one: number, other: number) => boolean,
): StampRow | null {
  if (!one || !other) return one ?? other;
  return isBetter(one.step, other.step) ? one : other;
}
