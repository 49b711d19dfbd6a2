import { formatValue } from '../../../base/format';
import type { Axes, Reading } from '../curve/curve';

export interface Column {
  readonly name: string;
  /** What the short name stands for. */
  readonly title: string;
  readonly of: (reading: Reading) => number;
}

const PRECISION: Column = { name: 'prec', title: 'Precision', of: ({ precision }) => precision };
const RECALL: Column = { name: 'rec', title: 'Recall', of: ({ recall }) => recall };
const RATES: readonly Column[] = [
  { name: 'FPR', title: 'False positive rate', of: ({ falsePositiveRate }) => falsePositiveRate },
  { name: 'TPR', title: 'True positive rate, the same as recall', of: ({ recall }) => recall },
];
const REST: readonly Column[] = [
  { name: 'F1', title: 'F1', of: ({ f1 }) => f1 },
  { name: 'TP', title: 'True positives', of: ({ truePositives }) => truePositives },
  { name: 'FP', title: 'False positives', of: ({ falsePositives }) => falsePositives },
  { name: 'TN', title: 'True negatives', of: ({ trueNegatives }) => trueNegatives },
  { name: 'FN', title: 'False negatives', of: ({ falseNegatives }) => falseNegatives },
];

/** What is told of a curve at a threshold. */
export function columnsOf(axes: Axes): readonly Column[] {
  return axes === 'PR' ? [PRECISION, RECALL, ...REST] : [...RATES, ...REST];
}

export function cellsOf(reading: Reading, columns: readonly Column[], digits = 4): string[] {
  return columns.map(({ of }) => {
    const value = of(reading);
    return Number.isNaN(value) ? '–' : formatValue(value, digits);
  });
}
