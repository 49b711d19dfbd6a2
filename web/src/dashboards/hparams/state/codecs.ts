import { type Codec, json, list } from '../../../base/codec';
import type { AxisScale } from '../model/axis';
import type { SortKey } from '../model/order';
import { NO_RULES, type Rule, type Rules } from '../model/rules';

type RuleEntries = readonly (readonly [string, Rule])[];

const entries = json<RuleEntries>(areRules, []);

/** Rules as JSON: a pair of key and rule each. */
export const rulesCodec: Codec<Rules> = {
  parse: (text) => (text === '' ? NO_RULES : new Map(entries.parse(text))),
  format: (rules) => (rules.size === 0 ? '' : entries.format([...rules])),
};

/** `-metric:acc,hparam:lr`: a minus before a key that falls. */
export const orderCodec: Codec<readonly SortKey[]> = {
  parse: (text) =>
    list
      .parse(text)
      .map((word) => ({ key: word.replace(/^-/, ''), descending: word.startsWith('-') })),
  format: (keys) => list.format(keys.map(({ key, descending }) => (descending ? `-${key}` : key))),
};

/** How somebody wants an axis. */
export interface AxisChoice {
  readonly scale?: AxisScale;
  readonly flipped?: boolean;
}

export type AxisChoices = ReadonlyMap<string, AxisChoice>;

const axisEntries = json<readonly (readonly [string, AxisChoice])[]>(areAxes, []);

export const axesCodec: Codec<AxisChoices> = {
  parse: (text) => new Map(axisEntries.parse(text || '[]')),
  format: (axes) => (axes.size === 0 ? '' : axisEntries.format([...axes])),
};

/** The choices with something else said of one axis. */
export function withAxis(axes: AxisChoices, key: string, said: AxisChoice): AxisChoices {
  return new Map([...axes, [key, { ...axes.get(key), ...said }]]);
}

/** Widths of columns by their key. */
export type Widths = ReadonlyMap<string, number>;

const widthEntries = json<readonly (readonly [string, number])[]>(areWidths, []);

export const widthsCodec: Codec<Widths> = {
  parse: (text) => new Map(widthEntries.parse(text || '[]')),
  format: (widths) => (widths.size === 0 ? '' : widthEntries.format([...widths])),
};

function arePairs(value: unknown): value is [string, unknown][] {
  return (
    Array.isArray(value) &&
    value.every((pair) => Array.isArray(pair) && pair.length === 2 && typeof pair[0] === 'string')
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function areRules(value: unknown): value is RuleEntries {
  return arePairs(value) && value.every(([, rule]) => isRule(rule));
}

function isRule(rule: unknown): rule is Rule {
  if (!isObject(rule)) return false;
  const { range, values, pattern, blank } = rule;
  return (
    (range === undefined || (isList(range, 'number') && range.length === 2)) &&
    (values === undefined || isList(values, 'string')) &&
    (pattern === undefined || typeof pattern === 'string') &&
    (blank === undefined || typeof blank === 'boolean')
  );
}

function isList(value: unknown, kind: 'number' | 'string'): value is unknown[] {
  return Array.isArray(value) && value.every((item) => typeof item === kind);
}

function areAxes(value: unknown): value is readonly (readonly [string, AxisChoice])[] {
  return arePairs(value) && value.every(([, choice]) => isObject(choice));
}

function areWidths(value: unknown): value is readonly (readonly [string, number])[] {
  return arePairs(value) && value.every(([, width]) => typeof width === 'number');
}
