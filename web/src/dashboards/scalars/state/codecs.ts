import { type Codec, list } from '../../../base/codec';
import type { Extent, Limits, Span } from '../../../charts/types';
import type { XAxis } from '../../../plugin/context';

const AXES: readonly XAxis[] = ['step', 'relative_step', 'relative', 'wall', 'index'];

export const xAxis: Codec<XAxis> = {
  parse(text) {
    if (text.startsWith('metric:')) return text as XAxis;
    return AXES.find((axis) => axis === text) ?? 'step';
  },
  format: (axis) => axis,
};

/** Some cards, or all but some: `*` stands for all, and those named after it are left out. */
export interface CardSet {
  readonly all: boolean;
  readonly named: readonly string[];
}

export const NO_CARDS: CardSet = { all: false, named: [] };

export const cardSet: Codec<CardSet> = {
  parse(text) {
    const names = list.parse(text);
    return names[0] === '*' ? { all: true, named: names.slice(1) } : { all: false, named: names };
  },
  format: ({ all, named }) => list.format(all ? ['*', ...named] : named),
};

export function includes({ all, named }: CardSet, id: string): boolean {
  return all !== named.includes(id);
}

export function toggle({ all, named }: CardSet, id: string): CardSet {
  return { all, named: toggleName(named, id) };
}

export function toggleName(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names.filter((other) => other !== name) : [...names, name];
}

/** What each of some cards has; cards that have nothing are left out. */
export type ByCard<Value> = ReadonlyMap<string, Value>;

export function withCard<Value>(
  map: ByCard<Value>,
  id: string,
  value: Value | null,
): ByCard<Value> {
  const changed = new Map(map);
  changed.delete(id);
  if (value !== null) changed.set(id, value);
  return changed;
}

/** Axis ends that were typed. */
export interface CardLimits {
  readonly x: Limits;
  readonly y: Limits;
  readonly y2: Limits;
}

export const NO_LIMITS: CardLimits = {
  x: { low: null, high: null },
  y: { low: null, high: null },
  y2: { low: null, high: null },
};

/** Written flat, a few fields a card: `loss,0,100,,2`. */
function byCard<Value>(
  fields: number,
  read: (texts: readonly string[]) => Value | null,
  write: (value: Value) => readonly string[],
): Codec<ByCard<Value>> {
  return {
    parse(text) {
      const texts = list.parse(text);
      const map = new Map<string, Value>();
      for (let at = 0; at + fields < texts.length; at += fields + 1) {
        const value = read(texts.slice(at + 1, at + 1 + fields));
        if (value !== null) map.set(texts[at] ?? '', value);
      }
      return map;
    },
    format: (map) => list.format([...map].flatMap(([id, value]) => [id, ...write(value)])),
  };
}

const readEnd = (text: string | undefined): number | null =>
  text === undefined || text.trim() === '' || !Number.isFinite(Number(text)) ? null : Number(text);
const writeEnd = (end: number | null): string => (end === null ? '' : String(end));

export const limits: Codec<ByCard<CardLimits>> = byCard(
  6,
  (texts) => {
    const [a = null, b = null, c = null, d = null, e = null, f = null] = texts.map(readEnd);
    return { x: { low: a, high: b }, y: { low: c, high: d }, y2: { low: e, high: f } };
  },
  ({ x, y, y2 }) => [x, y, y2].flatMap(({ low, high }) => [writeEnd(low), writeEnd(high)]),
);

export const zooms: Codec<ByCard<Extent>> = byCard(
  6,
  (texts) => {
    const [x, y, y2] = [0, 2, 4].map((at) => readSpan(texts[at], texts[at + 1]));
    return x && y ? { x, y, ...(y2 ? { y2 } : {}) } : null;
  },
  ({ x, y, y2 }) => [...[...x, ...y].map(writeShort), ...(y2?.map(writeShort) ?? ['', ''])],
);

function readSpan(low: string | undefined, high: string | undefined): Span | null {
  const [from, to] = [readEnd(low), readEnd(high)];
  return from === null || to === null ? null : [from, to];
}

/** As a link needs it: no chart shows more digits. */
const writeShort = (end: number): string => String(Number(end.toPrecision(12)));

/** How a card shows its data. */
export type Form = 'chart' | 'table' | 'bars';

export const forms: Codec<ByCard<Form>> = byCard(
  1,
  ([form]) => (form === 'table' || form === 'bars' ? form : null),
  (form) => [form],
);
