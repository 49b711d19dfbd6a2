/** Numbers as they are taken away. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
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
