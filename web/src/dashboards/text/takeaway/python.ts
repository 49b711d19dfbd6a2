import { openingLines, quote, type Root } from '../../../wall/takeaway/python';

/** What the lines of Python are to read. */
export interface Reading {
  readonly roots: readonly Root[];
  readonly runs: readonly string[];
  readonly tag: string;
}

/** Lines of Python that read the same texts. */
export function pythonFor({ roots, runs, tag }: Reading): string {
  return [
    ...openingLines(roots),
    `for run in [${runs.map(quote).join(', ')}]:`,
    `    texts = log.text(run, ${quote(tag)})`,
    '    for step, text in zip(texts.step, texts):',
    '        print(run, step, text)  # an array of strings, of rank 0 for a plain text',
    '',
  ].join('\n');
}
