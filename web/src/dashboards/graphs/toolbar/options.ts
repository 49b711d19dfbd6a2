import { groupOptions, type OptionGroup } from '../../../widgets/picker';
import type { GraphRow } from '../data/answers';

const HINTS: Readonly<Record<GraphRow['kind'], string>> = {
  op: 'operations',
  profile: 'profile',
  conceptual: 'layers',
  upload: 'your file',
};

export type LabelOf = (run: string) => string;

export function nameOf(row: GraphRow, labelOf: LabelOf): string {
  return row.run === '' ? row.title : `${labelOf(row.run)} · ${row.title}`;
}

/** Graphs to choose from, by the runs that logged them. */
export function optionsOf(
  rows: readonly GraphRow[],
  chosen: GraphRow | undefined,
  labelOf: LabelOf,
): OptionGroup[] {
  return groupOptions(
    rows,
    ({ run }) => (run === '' ? 'Files' : labelOf(run)),
    (row) => ({
      key: row.id,
      label: nameOf(row, labelOf),
      hint: HINTS[row.kind],
      chosen: row.id === chosen?.id,
    }),
  );
}
