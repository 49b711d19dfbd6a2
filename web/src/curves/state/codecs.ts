import type { Codec } from '../../base/codec';
import type { Extent, Limits, Span } from '../../charts/types';
import type { XAxis } from '../../plugin/context';
import { type ByCard, byCard } from '../../wall/by-card';

const AXES: readonly XAxis[] = ['step', 'relative_step', 'relative', 'wall', 'index'];

export const xAxis: Codec<XAxis> = {
  parse(text) {
    if (text.startsWith('metric:')) return text as XAxis;
    return AXES.find((axis) => axis === text) ?? 'step';
  },
  format: (axis) => axis,
};

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
