import type { AlertRule, AlertRuleKind } from '../../api/client';
import { formatStep, formatValue } from '../../lib/format';

export const RULE_KINDS: readonly { readonly kind: AlertRuleKind; readonly label: string }[] = [
  { kind: 'above', label: 'goes above' },
  { kind: 'below', label: 'goes below' },
  { kind: 'nan', label: 'is NaN or infinite' },
  { kind: 'stalled', label: 'does not improve' },
];

/** A rule as a sentence without its tag. */
export function describeRule({ kind, value, goal }: Omit<AlertRule, 'id' | 'tag'>): string {
  if (kind === 'nan') return 'is NaN or infinite';
  if (kind !== 'stalled') return `goes ${kind} ${formatValue(value ?? 0)}`;
  const better = goal === 'max' ? 'higher' : 'lower';
  return `gets no ${better} for ${formatStep(value ?? 0)} steps`;
}
