import type { Metric } from '../../api/schemas';
import * as m from '../../catalog/what_if';

/** Distances between datapoints. */
export const METRIC_OPTIONS: readonly { readonly value: Metric; readonly label: string }[] = [
  { value: 'l1', label: 'L1' },
  { value: 'l2', label: 'L2' },
  { value: 'cosine', label: m.cosine },
];
