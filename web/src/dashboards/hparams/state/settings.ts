import { choice, flag, list, number, optionalText } from '../../../base/codec';
import type { Context } from '../../../plugin/context';
import type { How } from '../data/answers';
import { NO_RULES } from '../model/rules';
import { axesCodec, orderCodec, rulesCodec, widthsCodec } from './codecs';

export const VIEWS = [
  'table',
  'parallel',
  'scatter',
  'importance',
  'slice',
  'contour',
  'progress',
] as const;

export type View = (typeof VIEWS)[number];

/** What each view is called. */
export const TITLES: Readonly<Record<View, string>> = {
  table: 'Table',
  parallel: 'Parallel',
  scatter: 'Scatter',
  importance: 'Importance',
  slice: 'Slices',
  contour: 'Contour',
  progress: 'Best so far',
};

const HOWS: readonly How[] = ['last', 'min', 'max', 'mean', 'step'];
const OVERS = ['each', 'mean', 'median', 'min', 'max'] as const;

export type Repeats = (typeof OVERS)[number];

/** Narrower screens are the picture's, until somebody asks for the filters. */
const ROOM_FOR_PANEL = 1100;

export type Settings = ReturnType<typeof openSettings>;

/** What the dashboard is set to: in the address, but for what is a matter of taste. */
export function openSettings({ address, tastes }: Pick<Context, 'address' | 'tastes'>) {
  return {
    view: address.param<View>('hp', choice(VIEWS, 'parallel'), 'parallel'),
    /** The metric that sessions are judged by, and whether less of it is better. */
    metric: address.param('hp-metric', optionalText, null),
    goal: address.param('hp-goal', choice(['usual', 'min', 'max'], 'usual'), 'usual'),
    how: address.param<How>('hp-how', choice(HOWS, 'last'), 'last'),
    lastN: address.param('hp-n', number(10), 10),
    step: address.param('hp-step', number(0), 0),
    repeats: address.param<Repeats>('hp-repeats', choice(OVERS, 'each'), 'each'),
    rules: address.param('hp-if', rulesCodec, NO_RULES),
    order: address.param('hp-sort', orderCodec, []),
    /** Columns in an order of somebody's own come before the others. */
    arranged: address.param('hp-cols', list, []),
    hidden: address.param('hp-hide', list, []),
    /** Columns that are seen though they would not be by themselves. */
    added: address.param('hp-add', list, []),
    pinned: address.param('hp-pin', list, []),
    axes: address.param('hp-axes', axesCodec, new Map()),
    colour: address.param('hp-colour', optionalText, null),
    across: address.param('hp-x', optionalText, null),
    up: address.param('hp-y', optionalText, null),
    panel: tastes.param('hparams-filters', flag, innerWidth >= ROOM_FOR_PANEL),
    widths: tastes.param('hparams-widths', widthsCodec, new Map()),
  };
}
