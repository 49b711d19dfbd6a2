import { toProblem } from '../api/errors';
import type { DownloadFormat } from '../api/schemas';
import { downloadBlob, type LogRoot, openLogLines, quotePython, toFileName } from '../cards/export';
import type { ScalarCard } from './scalar-card';
import type { ScalarGridState } from './scalar-grid.svelte';

/** What the lines of Python are to read. */
export interface PythonExport {
  readonly roots: readonly LogRoot[];
  /** null: all. */
  readonly runs: readonly string[] | null;
  readonly tags: readonly string[];
}

/** Lines of Python that read the same series, every point of them. */
export function pythonSnippet({ roots, runs, tags }: PythonExport): string {
  return [
    ...openLogLines(roots),
    'table = log.scalars(',
    ...(runs === null ? [] : [`    run=${names(runs)},`]),
    `    tag=${names(tags)},`,
    ')',
    'steps, values = table["step"], table["value"]  # also: run, tag, wall_time',
    '',
  ].join('\n');
}

function names(list: readonly string[]): string {
  return `[${list.map(quotePython).join(', ')}]`;
}

/** The points of one card as a file. */
export function exportCard(
  curves: ScalarGridState,
  card: ScalarCard,
  format: DownloadFormat,
): Promise<void> {
  return exportTags(curves, card.tags, format, toFileName(card.title));
}

/** The points of all cards of the view as one file. */
export function exportView(curves: ScalarGridState, format: DownloadFormat): Promise<void> {
  return exportTags(curves, viewTags(curves), format, curves.info.name);
}

/** The tags of all cards. */
export function viewTags({ sections }: ScalarGridState): string[] {
  return [...new Set(sections.flatMap(({ cards }) => cards.flatMap(({ tags }) => tags)))];
}

async function exportTags(
  curves: ScalarGridState,
  tags: readonly string[],
  format: DownloadFormat,
  name: string,
): Promise<void> {
  const { runs, smoothing, x, overwritten } = curves.viewRequest;
  const ask = { runs, tags, format, smoothing, x, overwritten };
  curves.exportError = null;
  try {
    downloadBlob(await curves.api.blob('table', ask), `${name}.${format}`);
  } catch (error) {
    curves.exportError = toProblem(error);
  }
}
