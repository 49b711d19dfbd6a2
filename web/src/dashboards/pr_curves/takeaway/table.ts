import type { Curve } from '../curve/curve';

/** One row for each threshold of each curve. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

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

/** All that is drawn, and the counts behind it; null where something is not defined. */
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

export function toCsv({ columns, rows }: Table): string {
  const lines = [columns, ...rows].map((cells) => cells.map(quote).join(','));
  return lines.join('\n') + '\n';
}

function quote(cell: string | number | null): string {
  const text = cell === null ? '' : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toJson({ columns, rows }: Table): string {
  const objects = rows.map((cells) =>
    Object.fromEntries(columns.map((name, at) => [name, cells[at]])),
  );
  return JSON.stringify(objects, null, 1);
}
