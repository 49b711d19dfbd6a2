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
    view: url.param<FairnessView>('fairness-view', choice(FAIRNESS_VIEWS, 'gaps'), 'gaps'),
    evaluation: url.param('fairness-evaluation', optionalText, null),
    /** null: the first model. */
    model: url.param('fairness-model', optionalText, null),
    baseline: url.param('fairness-baseline', optionalText, null),
    /** Keys of evaluations and models to compare with instead of a baseline slice. */
    others: url.param('fairness-compare', list, []),
    metrics: url.param('fairness-metrics', list, []),
    thresholds: url.param('fairness-thresholds', list, []),
    outputs: url.param('fairness-outputs', list, []),
    slices: url.param('fairness-slices', list, []),
    correction: url.param<CorrectionName>(
      'fairness-correction',
      choice(CORRECTIONS, 'holm'),
      'holm',
    ),
    filter: url.param('fairness-filter', optionalText, null),
    minRows: url.param('fairness-min-rows', number(0), 0),
    /** Restricts the slice browser to values of its first metric. */
    range: url.param('fairness-range', range, null),
    sort: url.param('fairness-sort', sortOrderCodec, { key: 'count', descending: true }),
    tableSort: url.param('fairness-table-sort', sortOrderCodec, { key: '', descending: false }),
    /** Threshold of the confusion matrix. */
    cut: url.param('fairness-threshold', number(0.5), 0.5),
  };
}
