import type { StampRow, TagRow } from '../../api/schemas';

const MESH_TAG = /^(?<name>.*)_(?<part>VERTEX|FACE|COLOR)(?<number>_\d+)?$/s;

/** Return the mesh that a series belongs to; `tracklight/analysis/meshes.py` has the same logic. */
export function getMeshName(tag: string): string {
  const found = MESH_TAG.exec(tag)?.groups;
  return found ? (found.name ?? '') + (found.number ?? '') : tag;
}

/** Return one row per mesh. A mesh is logged as up to three series. */
export function mergeMeshTags(rows: readonly TagRow[]): readonly TagRow[] {
  const merged = new Map<string, TagRow>();
  for (const row of rows) {
    const tag = getMeshName(row.tag);
    const previous = merged.get(tag);
    const display_name = getDisplayName(row, tag);
    merged.set(tag, previous ? mergeTagRows(previous, row) : { ...row, tag, display_name });
  }
  return [...merged.values()];
}

/** Writers use the tag as display name if the user gave none. */
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
