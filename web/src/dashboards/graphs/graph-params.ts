import * as codec from '../../lib/codecs';
import type { Codec } from '../../lib/codecs';
import type { Context } from '../../plugin/context';
import type { ViewTransform } from './canvas/view-transform';
import type { Direction } from './layout/layout-types';

export const DIRECTIONS = ['down', 'right'] as const satisfies readonly Direction[];
export const TRACE_MODES = ['off', 'inputs', 'outputs', 'both'] as const;
export type TraceMode = (typeof TRACE_MODES)[number];
export type GraphParams = ReturnType<typeof createGraphParams>;

/** What spot of the picture is in the middle of the screen, and how large. */
const viewCodec: Codec<ViewTransform | null> = {
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
const openGroupsCodec: Codec<readonly string[] | null> = {
  parse: (text) => (text === ALL_CLOSED ? [] : codec.list.parse(text)),
  format(groups) {
    if (groups === null) return '';
    return groups.length === 0 ? ALL_CLOSED : codec.list.format(groups);
  },
};

/** All that decides what is seen of a graph. */
export function createGraphParams({ url, preferences }: Pick<Context, 'url' | 'preferences'>) {
  return {
    graph: url.param('graph', codec.text, ''),
    /** The graph that it is compared with. */
    other: url.param('with', codec.text, ''),
    step: url.param('graph-step', codec.optionalNumber, null),
    open: url.param('open', openGroupsCodec, null),
    node: url.param('node', codec.optionalText, null),
    /** Where a shortest way to the chosen node begins. */
    pathStart: url.param('from', codec.optionalText, null),
    trace: url.param('trace', codec.choice(TRACE_MODES, 'off'), 'off'),
    /** Empty for the best that there is. */
    colorBy: url.param('paint', codec.text, ''),
    profile: url.param('profile', codec.text, ''),
    direction: url.param('flow', codec.choice(DIRECTIONS, 'down'), 'down'),
    foldSeries: url.param('series', codec.flag, true),
    /** Groups whose nodes that stand aside are seen, and such nodes that were put back. */
    expandedAuxiliary: url.param('aside', codec.list, []),
    movedNodes: url.param('back', codec.list, []),
    query: url.param('find', codec.text, ''),
    view: url.param('look', viewCodec, null),
    /** On a phone it would cover half of the graph. */
    panel: preferences.param('graphs-panel', codec.flag, innerWidth > 900),
  };
}
