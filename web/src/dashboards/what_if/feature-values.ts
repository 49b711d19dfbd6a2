/** Values of features as text in fields and back; their distributions, and filters by type. */
import type { FeatureValue, OtherStatistics, StatisticsRow, ValueType } from '../../api/schemas';
import { formatValue } from '../../lib/format';

/** Return the value of a name that is in the data, such as `constructor`, and not inherited. */
export function getOwn<Value>(
  record: Readonly<Record<string, Value>> | null | undefined,
  name: string,
): Value | undefined {
  return record && Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Return the text of a value; lists are written as JSON. */
export function formatFeature(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return JSON.stringify(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Return the value of a text for a feature; the empty text is a missing value unless the feature is
 * text. Text that cannot be a value is returned as it is, so that the server explains the error.
 */
export function parseFeature(
  text: string,
  { type, is_list: isList }: { readonly type: ValueType; readonly is_list: boolean },
): unknown {
  const trimmed = text.trim();
  if (isList) return parseList(trimmed, type);
  if (type === 'string') return text;
  return trimmed === '' ? null : parseScalar(trimmed, type);
}

function parseList(text: string, type: ValueType): unknown {
  if (text === '') return [];
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value;
  } catch {
    // Items may also be separated by commas.
  }
  return text.split(',').map((item) => parseScalar(item.trim(), type));
}

function parseScalar(text: string, type: ValueType): unknown {
  if (type === 'string') return text;
  if (type === 'boolean') {
    if (/^(true|1)$/i.test(text)) return true;
    if (/^(false|0)$/i.test(text)) return false;
    return text;
  }
  const number = Number(text);
  return text === '' || Number.isNaN(number) ? text : number;
}

export function isSame(one: unknown, other: unknown): boolean {
  return formatFeature(one) === formatFeature(other);
}

/** Return whether a feature is edited step by step: sequences, and lists of images. */
export function hasSteps(feature: Omit<StepFeature, 'value'>): boolean {
  return feature.is_sequence || (feature.is_list && isBinary(feature));
}

/** Return the number of steps of a sequence or a list of images; 0 for other features. */
export function countSteps(feature: StepFeature): number {
  return hasSteps(feature) && Array.isArray(feature.value) ? feature.value.length : 0;
}

type StepFeature = Pick<FeatureValue, 'type' | 'is_list' | 'is_sequence' | 'value'>;

/** Return one step of a sequence as text; a single item is written without brackets. */
export function formatStep(value: unknown, step: number): string {
  const items: unknown = Array.isArray(value) ? value[step] : undefined;
  if (Array.isArray(items) && items.length === 1) return formatFeature(items[0]);
  return formatFeature(items);
}

/** Return a sequence in which one step has the items of a text. */
export function replaceStep(
  value: unknown,
  step: number,
  text: string,
  { type }: Pick<FeatureValue, 'type'>,
): unknown[] {
  const steps: unknown[] = Array.isArray(value) ? [...(value as unknown[])] : [];
  // Text with commas is one item if it is the only one.
  const isSingleText = type === 'string' && !text.trim().startsWith('[');
  steps[step] = isSingleText ? [text] : parseFeature(text, { type, is_list: true });
  return steps;
}

export function isBinary({ type }: Pick<FeatureValue, 'type'>): boolean {
  return type === 'image' || type === 'bytes';
}

/** Return the changes of each class between two predictions; scores may be missing. */
export function listScoreChanges(
  classNames: readonly string[],
  history: readonly (readonly (number | null)[])[],
): { readonly name: string; readonly before: number | null; readonly after: number | null }[] {
  const after = history.at(-1) ?? [];
  const before = history.length > 1 ? history.at(-2) : undefined;
  const known = (score: number | null | undefined): number | null =>
    score === undefined || Number.isNaN(score) ? null : score;
  return after.map((score, at) => ({
    name: classNames[at] ?? '',
    before: known(before?.[at]),
    after: known(score),
  }));
}

export const FEATURE_ORDERS = ['data', 'name', 'largest', 'smallest', 'absolute'] as const;
export type FeatureOrder = (typeof FEATURE_ORDERS)[number];

/**
 * Return the features whose name matches a search, in some order. Images come first; features
 * without an attribution are the last of those that are sorted by it.
 */
export function arrangeFeatures<
  Feature extends Pick<FeatureValue, 'name' | 'type' | 'attributions'>,
>(
  features: readonly Feature[],
  search: RegExp | null,
  order: FeatureOrder,
  model: string,
): Feature[] {
  const get = ({ attributions }: Feature): number => {
    const value = getOwn(attributions, model);
    if (value === undefined || Number.isNaN(value)) return -Infinity;
    if (order === 'smallest') return -value;
    return order === 'absolute' ? Math.abs(value) : value;
  };
  const compare = (one: Feature, other: Feature): number => {
    if (order === 'data') return 0;
    if (order === 'name') return one.name.localeCompare(other.name);
    const [a, b] = [get(one), get(other)];
    return a === b ? 0 : b - a;
  };
  return features
    .filter(({ name }) => search?.test(name) ?? true)
    .sort((one, other) => Number(isBinary(other)) - Number(isBinary(one)) || compare(one, other));
}

/** Return the pattern of a search without regard to case, or null if it is not valid. */
export function parseSearch(text: string): RegExp | null {
  try {
    return new RegExp(text.trim(), 'i');
  } catch {
    return null;
  }
}

/** Encode a file as the value of an image or bytes feature. */
export async function encodeFile(file: Blob): Promise<{ readonly base64: string }> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = '';
  const CHUNK = 0x8000;
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return { base64: btoa(binary) };
}

/** Return the names of bins by their edges; the last one includes its end. */
export function makeBinLabels(edges: ArrayLike<number>): string[] {
  return Array.from({ length: Math.max(0, edges.length - 1) }, (_, at) => {
    const [low, high] = [edges[at] ?? NaN, edges[at + 1] ?? NaN];
    const end = at === edges.length - 2 ? ']' : ')';
    return `[${formatValue(low)}, ${formatValue(high)}${end}`;
  });
}

/** Return counts, or shares of all, and their logarithm if wanted; empty bins stay 0. */
export function scaleCounts(counts: readonly number[], isShare: boolean, isLog: boolean): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0) || 1;
  return counts.map((count) => {
    const value = isShare ? (100 * count) / total : count;
    return isLog ? Math.log10(1 + value) : value;
  });
}

/** Return the share of values up to the end of each bin, in percent. */
export function accumulate(counts: readonly number[]): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0) || 1;
  let sum = 0;
  return counts.map((count) => (100 * (sum += count)) / total);
}

/** Return the names of bins of whole numbers, such as `3` or `3 – 5`. */
export function makeLengthLabels(edges: ArrayLike<number>): string[] {
  return Array.from({ length: Math.max(0, edges.length - 1) }, (_, at) => {
    const [low, high] = [edges[at] ?? NaN, (edges[at + 1] ?? NaN) - 1];
    return low === high ? String(low) : `${low} – ${high}`;
  });
}

export type Drift = keyof Pick<
  OtherStatistics,
  'jensen_shannon' | 'population_stability' | 'chi_square' | 'kolmogorov_smirnov'
>;

/** Return the largest difference to any of the other data sets; null without one. */
export function getLargestDrift({ others }: StatisticsRow, drift: Drift): number | null {
  const values = others.map((other) => other[drift]).filter((value) => !Number.isNaN(value));
  return values.length > 0 ? Math.max(...values) : null;
}

/** How many values a row has. */
const SHAPES = ['single', 'fixed', 'variable'] as const;
type Shape = (typeof SHAPES)[number];

type Typed = Pick<StatisticsRow, 'type' | 'is_list' | 'list_length'>;

function getShape({ is_list: isList, list_length: length }: Typed): Shape {
  if (!isList) return 'single';
  return length === null ? 'variable' : 'fixed';
}

/** Return the types and the shapes among features, of which there is a choice. */
export function listKinds(rows: readonly Typed[]): (ValueType | Shape)[] {
  const types = [...new Set(rows.map(({ type }) => type))].sort();
  const shapes = SHAPES.filter((shape) => rows.some((row) => getShape(row) === shape));
  return [...(types.length > 1 ? types : []), ...(shapes.length > 1 ? shapes : [])];
}

/** Return whether a feature has one of the chosen types and shapes; without any of these, all. */
export function matchesKinds(row: Typed, kinds: readonly string[]): boolean {
  const shapes = kinds.filter((kind) => SHAPES.some((shape) => shape === kind));
  const types = kinds.filter((kind) => !shapes.includes(kind));
  return (
    (types.length === 0 || types.includes(row.type)) &&
    (shapes.length === 0 || shapes.includes(getShape(row)))
  );
}
