import type { SpreadAxis } from '../../api/histograms';
import { choice, type Codec, flag, list, number } from '../../base/codec';
import type { SpreadZoom } from '../../charts/spread/types';
import type { Span } from '../../charts/types';
import type { Context } from '../../plugin/context';
import { type ByCard, byCard } from '../../wall/by-card';
import { openWallSettings } from '../../wall/settings';

/** How histograms are drawn. */
export type Look = 'offset' | 'overlay' | 'heat';
/** Whether the bands of several runs lie in one chart. */
export type Bands = 'bands' | 'together';

/** How wide a card is, in pixels, until somebody says otherwise. */
export const USUAL_WIDTH = 340;
/** TensorBoard shows 30; a copy of a board carries 120, of which all of these can be made. */
export const BINS = [30, 60, 120] as const;

export type Settings = ReturnType<typeof openSettings>;

/** What both tabs are set to; they share all but how they draw, so that one leads to the other. */
export function openSettings({ address, tastes }: Context) {
  return {
    ...openWallSettings({ address, tastes }, 'histograms', USUAL_WIDTH),
    x: address.param<SpreadAxis>('x', choice(['step', 'relative', 'wall'], 'step'), 'step'),
    look: address.param<Look>('hmode', choice(['offset', 'overlay', 'heat'], 'offset'), 'offset'),
    bands: address.param<Bands>('dmode', choice(['bands', 'together'], 'bands'), 'bands'),
    /** Counts on a logarithmic scale. */
    logCounts: address.param('hlog', flag, false),
    /** Values of distributions on a logarithmic scale. */
    logValues: address.param('dlog', flag, false),
    bins: address.param('bins', bins, 60),
    ignoreOutliers: address.param('outliers', flag, true),
    zooms: address.param('hzoom', zooms, new Map()),
    /** How many runs the chart of a card passes over. */
    skips: address.param('hskip', skips, new Map()),
    /** Cards that are shown as a table. */
    tables: address.param('htable', list, []),
  };
}

const bins: Codec<number> = {
  parse: (text) => BINS.find((count) => String(count) === text) ?? 60,
  format: String,
};

const skips: Codec<ByCard<number>> = byCard(
  1,
  ([text = '']) => Math.max(0, Math.round(number(0).parse(text))) || null,
  (skip) => [String(skip)],
);

export const zooms: Codec<ByCard<SpreadZoom>> = byCard(
  4,
  (texts) => {
    const [steps, values] = [0, 2].map((at) => readSpan(texts[at], texts[at + 1]));
    return steps || values ? { steps: steps ?? null, values: values ?? null } : null;
  },
  ({ steps, values }) => [...writeSpan(steps), ...writeSpan(values)],
);

function readSpan(low = '', high = ''): Span | null {
  const [from, to] = [low, high].map((text) => (text.trim() === '' ? NaN : Number(text)));
  if (from === undefined || to === undefined || !(from < to)) return null;
  return Number.isFinite(from) && Number.isFinite(to) ? [from, to] : null;
}

/** As a link needs it: no chart shows more digits. */
function writeSpan(span: Span | null): readonly string[] {
  return span ? span.map((end) => String(Number(end.toPrecision(12)))) : ['', ''];
}
