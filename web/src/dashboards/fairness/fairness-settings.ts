import type { CorrectionName } from '../../api/schemas';
import { sortOrderCodec } from '../../components/data-table';
import { choice, list, number, optionalText, range } from '../../lib/codecs';
import type { Context } from '../../plugin/context';

export const FAIRNESS_VIEWS = [
  'gaps',
  'metrics',
  'slices',
  'steps',
  'plots',
  'validation',
] as const;

export type FairnessView = (typeof FAIRNESS_VIEWS)[number];

export const CORRECTIONS: readonly CorrectionName[] = [
  'holm',
  'bonferroni',
  'benjamini-hochberg',
  'none',
];

export type FairnessSettings = ReturnType<typeof makeFairnessSettings>;

/** What is shown, in the URL. Empty lists and null mean the defaults of the evaluation. */
export function makeFairnessSettings({ url }: Pick<Context, 'url'>) {
  return {
    view: url.param<FairnessView>('fair', choice(FAIRNESS_VIEWS, 'gaps'), 'gaps'),
    evaluation: url.param('fair-eval', optionalText, null),
    /** null: the first model. */
    model: url.param('fair-model', optionalText, null),
    baseline: url.param('fair-base', optionalText, null),
    /** Keys of evaluations and models to compare with instead of a baseline slice. */
    others: url.param('fair-other', list, []),
    metrics: url.param('fair-metrics', list, []),
    thresholds: url.param('fair-thresholds', list, []),
    outputs: url.param('fair-outputs', list, []),
    slices: url.param('fair-slices', list, []),
    correction: url.param<CorrectionName>('fair-correction', choice(CORRECTIONS, 'holm'), 'holm'),
    filter: url.param('fair-filter', optionalText, null),
    minRows: url.param('fair-min', number(0), 0),
    /** Restricts the slice browser to values of its first metric. */
    range: url.param('fair-range', range, null),
    sort: url.param('fair-sort', sortOrderCodec, { key: 'count', descending: true }),
    tableSort: url.param('fair-table', sortOrderCodec, { key: '', descending: false }),
    /** Threshold of the confusion matrix. */
    cut: url.param('fair-cut', number(0.5), 0.5),
  };
}
