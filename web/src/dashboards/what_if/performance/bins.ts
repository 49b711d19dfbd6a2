/** How numeric columns are divided into slices: rules as the server expects them. */
import type { PerformanceRequest } from '../../../api/schemas';

/** A number of bins of equal width, edges, or quantiles; by column. */
export type BinRules = NonNullable<PerformanceRequest['buckets']>;
export type BinRule = BinRules[string];
export type BinKind = 'width' | 'quantiles' | 'edges';

export const DEFAULT_BINS = 4;
const MAX_BINS = 50;
const MAX_EDGES = 999;

export function isBinRules(value: unknown): value is BinRules {
  return typeof value === 'object' && value !== null && Object.values(value).every(isBinRule);
}

function isBinRule(value: unknown): value is BinRule {
  if (typeof value === 'number') return isBinCount(value);
  if (Array.isArray(value)) return parseEdges(value.join(','))?.length === value.length;
  return (
    typeof value === 'object' &&
    value !== null &&
    'quantiles' in value &&
    typeof value.quantiles === 'number' &&
    isBinCount(value.quantiles)
  );
}

function isBinCount(value: number): boolean {
  return Number.isInteger(value) && value >= 2 && value <= MAX_BINS;
}

export function getBinKind(rule: BinRule): BinKind {
  if (typeof rule === 'number') return 'width';
  return 'quantiles' in rule ? 'quantiles' : 'edges';
}

export function getBinCount(rule: BinRule): number {
  if (typeof rule === 'number') return rule;
  return 'quantiles' in rule ? rule.quantiles : rule.length + 1;
}

/** Return the rule of a kind; edges begin with those that the column has now. */
export function makeBinRule(kind: BinKind, count: number, edges: readonly number[]): BinRule {
  const rounded = Math.max(2, Math.min(MAX_BINS, Math.round(count)));
  if (kind === 'quantiles') return { quantiles: rounded };
  return kind === 'edges' && edges.length > 0 ? edges : rounded;
}

/** Return ascending edges from text with commas or spaces; null if it is not a list of numbers. */
export function parseEdges(text: string): number[] | null {
  const parts = text.split(/[,;\s]+/).filter((part) => part !== '');
  const numbers = parts.map(Number);
  if (numbers.length === 0 || numbers.length > MAX_EDGES) return null;
  if (!numbers.every(Number.isFinite)) return null;
  return [...new Set(numbers)].sort((one, other) => one - other);
}

/** Return whether a text has all words of a filter. */
export function matchesWords(text: string, filter: string): boolean {
  const lower = text.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
