import type { StageRow } from '../../../api/schemas';

export interface StageTreeRow {
  readonly stage: StageRow;
  readonly depth: number;
}

/** Return the stages as a tree: consumers before the stages that feed them. */
export function flattenStages(stages: readonly StageRow[]): StageTreeRow[] {
  const known = new Set(stages.map(({ id }) => id));
  const roots = stages.filter(({ parent }) => parent === null || !known.has(parent));
  const rows: StageTreeRow[] = [];
  const visited = new Set<number>();
  const add = (stage: StageRow, depth: number): void => {
    // In a damaged trace, two stages may feed each other.
    if (visited.has(stage.id)) return;
    visited.add(stage.id);
    rows.push({ stage, depth });
    for (const child of stages) if (child.parent === stage.id) add(child, depth + 1);
  };
  for (const root of roots) add(root, 0);
  return rows;
}
