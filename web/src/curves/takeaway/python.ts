import { openingLines, quote, type Root } from '../../wall/takeaway/python';

/** What the lines of Python are to read. */
export interface Reading {
  readonly roots: readonly Root[];
  /** null: all. */
  readonly runs: readonly string[] | null;
  readonly tags: readonly string[];
}

/** Lines of Python that read the same series, every point of them. */
export function pythonFor({ roots, runs, tags }: Reading): string {
  return [
    ...openingLines(roots),
    'table = log.scalars(',
    ...(runs === null ? [] : [`    run=${names(runs)},`]),
    `    tag=${names(tags)},`,
    ')',
    'steps, values = table["step"], table["value"]  # also: run, tag, wall_time',
    '',
  ].join('\n');
}

function names(list: readonly string[]): string {
  return `[${list.map(quote).join(', ')}]`;
}
