import { choice, flag, list, text } from '../../base/codec';
import type { Context } from '../../plugin/context';
import { byCard } from '../../wall/by-card';
import { NO_PAIR, pairCodec } from './compare/pair';

/** A text laid out, or as it was logged. */
export const FORMS = ['markdown', 'raw'] as const;
/** The texts at one step, or all there are. */
export const EXTENTS = ['step', 'all'] as const;
/** How two texts stand to each other. */
export const SIDES = ['beside', 'unified'] as const;

export type Form = (typeof FORMS)[number];
export type Extent = (typeof EXTENTS)[number];

export type Look = ReturnType<typeof openLook>;

/** How texts are looked at, beside what every wall has. */
export function openLook({ address, tastes }: Pick<Context, 'address' | 'tastes'>) {
  return {
    form: address.param('form', choice(FORMS, 'markdown'), 'markdown'),
    extent: address.param('show', choice(EXTENTS, 'step'), 'step'),
    query: address.param('q', text, ''),
    queryRegex: address.param('q-re', flag, false),
    queryCase: address.param('q-case', flag, false),
    /** Which table of an array of more than two dimensions a card shows: `0,2`. */
    slices: address.param('slice', slices, new Map()),
    /** Two texts of the card over all others that are compared. */
    pair: address.param('diff', pairCodec(list), NO_PAIR),
    onlyChanges: address.param('diff-fold', flag, true),
    sides: tastes.param('text-sides', choice(SIDES, 'beside'), 'beside'),
    wrap: tastes.param('text-wrap', flag, true),
  };
}

const slices = byCard<string>(
  1,
  ([place = '']) => (/^\d+(,\d+)*$/.test(place) ? place : null),
  (place) => [place],
);
