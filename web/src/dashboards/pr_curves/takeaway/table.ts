import type { Table } from '../../../wall/takeaway/table';
import type { Curve } from '../curve/curve';

const NUMBERS = [
  'threshold',
  'true_positives',
  'false_positives',
  'true_negatives',
  'false_negatives',
  'precision',
  'recall',
  'f1',
  'false_positive_rate',
] as const;

/** One row for each threshold of each curve: all that is drawn, and the counts behind it; null where something is not defined. */
export function makeTable(curves: readonly Curve[]): Table {
  const rows = curves.flatMap(({ row }) => {
    const { run, tag, step, columns } = row;
    if (!columns) return [];
    return Array.from(columns.threshold, (_, at) => {
      const cells = NUMBERS.map((name) => finite(columns[name]?.[at]));
      return [run, tag, step, ...cells];
    });
  });
  return { columns: ['run', 'tag', 'step', ...NUMBERS], rows };
}

function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}
