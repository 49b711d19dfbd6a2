import { choice, flag, optionalNumber } from '../../base/codec';
import type { Extent } from '../../charts/types';
import type { Context } from '../../plugin/context';
import { byCard, type ByCard } from '../../wall/by-card';
import { openWallSettings } from '../../wall/settings';
import type { Axes } from './curve/curve';

/** What stands in one chart: the runs of a tag, or the tags of a run. */
export type Grouping = 'runs' | 'classes';
/** What is told over the steps. */
export type Measure = 'area' | 'f1';

const AXES: readonly Axes[] = ['PR', 'ROC'];
const USUAL_WIDTH = 340;

export type Settings = ReturnType<typeof openSettings>;

/** What the view is set to. All of it is in the address, but for what is a matter of taste. */
export function openSettings({ address, tastes }: Pick<Context, 'address' | 'tastes'>) {
  return {
    ...openWallSettings({ address, tastes }, 'pr_curves', USUAL_WIDTH),
    axes: address.param<Axes>('curve', choice(AXES, 'PR'), 'PR'),
    grouping: address.param<Grouping>('by', choice(['runs', 'classes'], 'runs'), 'runs'),
    /** The threshold that was clicked. */
    threshold: address.param('threshold', optionalNumber, null),
    zooms: address.param<ByCard<Extent>>('przoom', zooms, new Map()),
    /** Whether there is a table of counts below each chart. */
    tables: address.param('table', flag, false),
    measure: address.param<Measure>('measure', choice(['area', 'f1'], 'area'), 'area'),
    hasLevels: tastes.param('pr_curves-levels', flag, true),
    hasHistory: tastes.param('pr_curves-history', flag, true),
  };
}

/** What is seen of a card: both ends of both axes. */
const zooms = byCard<Extent>(
  4,
  (texts) => {
    const [x0 = NaN, x1 = NaN, y0 = NaN, y1 = NaN] = texts.map(Number);
    return x0 < x1 && y0 < y1 ? { x: [x0, x1], y: [y0, y1] } : null;
  },
  ({ x, y }) => [...x, ...y].map((end) => String(Number(end.toPrecision(6)))),
);
