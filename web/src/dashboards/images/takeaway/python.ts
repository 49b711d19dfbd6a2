import { openingLines, quote, type Root } from '../../../wall/takeaway/python';

/** What the lines of Python are to read. */
export interface Reading {
  readonly roots: readonly Root[];
  readonly run: string;
  readonly tag: string;
  /** null: the last. */
  readonly step: number | null;
}

/** Lines of Python that read the same pictures, at all steps. */
export function pythonFor({ roots, run, tag, step }: Reading): string {
  return [
    ...openingLines(roots),
    `images = log.images(${quote(run)}, ${quote(tag)})  # images.step: all steps`,
    `pictures = ${step === null ? 'images[-1]' : `images.at(${step})`}`,
    'arrays = pictures.to_arrays()  # each [height, width, channels]',
    '',
  ].join('\n');
}
