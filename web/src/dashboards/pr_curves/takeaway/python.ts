import { openingLines, quote, type Root } from '../../../wall/takeaway/python';

/** What the lines of Python are to read. */
export interface Reading {
  readonly roots: readonly Root[];
  readonly series: readonly { readonly run: string; readonly tag: string }[];
  /** null: the last. */
  readonly step: number | null;
}

/** Lines of Python that read the same curves. */
export function pythonFor({ roots, series, step }: Reading): string {
  const pick =
    step === null
      ? ['    curve = curves[-1]']
      : [`    curve = curves[(curves.step <= ${step}).nonzero()[0][-1]]  # the last until then`];
  return [
    ...openingLines(roots),
    'for run, tag in [',
    ...series.map(({ run, tag }) => `    (${quote(run)}, ${quote(tag)}),`),
    ']:',
    '    curves = log.tensors(run, tag)',
    ...pick,
    '    true_positives, false_positives, true_negatives, false_negatives = curve[:4]',
    '    precision, recall = curve[4:]  # at thresholds from 0 to 1',
    '',
  ].join('\n');
}
