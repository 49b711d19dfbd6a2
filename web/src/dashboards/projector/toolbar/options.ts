import { formatCount } from '../../../base/format';
import type { Option, OptionGroup } from '../../../widgets/picker';
import type { EmbeddingRow } from '../data/answers';

/** How the log directory itself is called as a run. */
const ROOT = '.';

export type LabelOf = (run: string) => string;

export function nameOf(row: EmbeddingRow, labelOf: LabelOf): string {
  const isOfRun = row.source === 'log' && row.run !== '' && row.run !== ROOT;
  return isOfRun ? `${labelOf(row.run)} · ${row.name}` : row.name;
}

/** Embeddings to choose from, by the runs that they are of. */
export function optionsOf(
  rows: readonly EmbeddingRow[],
  chosen: EmbeddingRow | undefined,
  labelOf: LabelOf,
): OptionGroup[] {
  const byRun = new Map<string, Option[]>();
  for (const row of rows) {
    const title = row.source === 'upload' ? 'Your files' : titleOf(row.run, labelOf);
    const option = { key: row.id, label: nameOf(row, labelOf), hint: sizeOf(row) };
    const options = byRun.get(title) ?? [];
    options.push({ ...option, title: row.problem || row.file, chosen: row.id === chosen?.id });
    byRun.set(title, options);
  }
  return [...byRun].map(([title, options]) => ({ title, options }));
}

function titleOf(run: string, labelOf: LabelOf): string {
  return run === ROOT ? 'Log directory' : labelOf(run);
}

function sizeOf({ problem, versions }: EmbeddingRow): string {
  const last = versions.at(-1);
  if (problem !== '') return 'cannot be read';
  return last && last.rows > 0 ? `${formatCount(last.rows)} × ${last.dimensions}` : '';
}
