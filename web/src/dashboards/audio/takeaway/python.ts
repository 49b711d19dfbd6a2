import { openingLines, quote, type Root } from '../../../wall/takeaway/python';

/** What the lines of Python are to read. */
export interface Reading {
  readonly roots: readonly Root[];
  readonly runs: readonly string[];
  readonly tag: string;
}

/** Lines of Python that read the same clips, at all steps. */
export function pythonFor({ roots, runs, tag }: Reading): string {
  return [
    ...openingLines(roots),
    `for run in [${runs.map(quote).join(', ')}]:`,
    `    clips = log.audio(run, ${quote(tag)})  # clips.step: all steps`,
    '    sounds = clips[-1].to_arrays()  # each [frames, channels] in [-1, 1]; WAV only',
    '',
  ].join('\n');
}
