import * as codec from '../../../base/codec';
import type { Codec } from '../../../base/codec';
import type { Context } from '../../../plugin/context';
import type { View } from '../canvas/view';
import type { Direction } from '../layout/nesting';

export const DIRECTIONS = ['down', 'right'] as const satisfies readonly Direction[];
export const TRACES = ['off', 'inputs', 'outputs', 'both'] as const;
export type Trace = (typeof TRACES)[number];
export type Params = ReturnType<typeof openParams>;

/** What spot of the picture is in the middle of the screen, and how large. */
const view: Codec<View | null> = {
  parse(text) {
    const [x, y, scale] = text.split(',').map(Number);
    const isWhole = [x, y, scale].every((number) => Number.isFinite(number));
    return isWhole && scale ? { x: x ?? 0, y: y ?? 0, scale } : null;
  },
  format: (value) =>
    value
      ? [Math.round(value.x), Math.round(value.y), Number(value.scale.toFixed(3))].join(',')
      : '',
};

/** Stands for no group at all, as no group could be called. */
const ALL_CLOSED = '/';

/** Null where nobody said which. */
const openGroups: Codec<readonly string[] | null> = {
  parse: (text) => (text === ALL_CLOSED ? [] : codec.list.parse(text)),
  format(groups) {
    if (groups === null) return '';
    return groups.length === 0 ? ALL_CLOSED : codec.list.format(groups);
  },
};

/** All that decides what is seen of a graph. */
export function openParams({ address, tastes }: Pick<Context, 'address' | 'tastes'>) {
  return {
    graph: address.param('graph', codec.text, ''),
    /** The graph that it is compared with. */
    other: address.param('with', codec.text, ''),
    step: address.param('graph-step', codec.optionalNumber, null),
    open: address.param('open', openGroups, null),
    node: address.param('node', codec.optionalText, null),
    /** Where a shortest way to the chosen node begins. */
    from: address.param('from', codec.optionalText, null),
    trace: address.param('trace', codec.choice(TRACES, 'off'), 'off'),
    /** Empty for the best that there is. */
    colour: address.param('paint', codec.text, ''),
    profile: address.param('profile', codec.text, ''),
    flow: address.param('flow', codec.choice(DIRECTIONS, 'down'), 'down'),
    fold: address.param('series', codec.flag, true),
    /** Groups whose nodes that stand aside are seen, and such nodes that were put back. */
    aside: address.param('aside', codec.list, []),
    back: address.param('back', codec.list, []),
    query: address.param('find', codec.text, ''),
    view: address.param('look', view, null),
    /** On a phone it would cover half of the graph. */
    panel: tastes.param('graphs-panel', codec.flag, innerWidth > 900),
  };
}
