import type { StageRow } from '../schemas';

/** A stage, and how many others take their elements from it one after the other. */
export interface StageTreeRow {
  readonly stage: StageRow;
  readonly depth: number;
}

/** Stages in the order in which they are asked for elements: the last of the pipeline first. */
export function flattenStages(stages: readonly StageRow[]): StageTreeRow[] {
  const known = new Set(stages.map(({ id }) => id));
  const roots = stages.filter(({ parent }) => parent === null || !known.has(parent));
  const rows: StageTreeRow[] = [];
  const met = new Set<number>();
  const add = (stage: StageRow, depth: number): void => {
    // A damaged trace may say that two stages feed each other.
    if (met.has(stage.id)) return;
    met.add(stage.id);
    rows.push({ stage, depth });
    for (const child of stages) if (child.parent === stage.id) add(child, depth + 1);
  };
  for (const root of roots) add(root, 0);
  return rows;
}
