import { createCardGridSettings, type PerCard, perCardCodec } from '../../cards/grid-settings';
import type { HistogramViewport } from '../../charts/histogram/histogram-model';
import type { NumberRange } from '../../charts/types';
import { choice, type Codec, flag, list, number } from '../../lib/codecs';
import type { Context } from '../../plugin/context';
import type { HistogramAxis } from '../../api/schemas';

/** How histograms are drawn. */
export type HistogramStyle = 'offset' | 'overlay' | 'heat';
/** Whether the bands of several runs lie in one chart. */
export type DistributionLayout = 'bands' | 'together';

/** How wide a card is, in pixels, until somebody says otherwise. */
export const DEFAULT_CARD_WIDTH_PX = 340;
/** TensorBoard shows 30; a copy of a board carries 120, of which all of these can be made. */
export const BIN_COUNTS = [30, 60, 120] as const;

export type HistogramSettings = ReturnType<typeof openHistogramSettings>;

/** What both tabs are set to; they share all but how they draw, so that one leads to the other. */
export function openHistogramSettings({ url, preferences }: Context) {
  return {
    ...createCardGridSettings({ url, preferences }, 'histograms', DEFAULT_CARD_WIDTH_PX),
    x: url.param<HistogramAxis>('x', choice(['step', 'relative', 'wall'], 'step'), 'step'),
    look: url.param<HistogramStyle>(
      'hmode',
      choice(['offset', 'overlay', 'heat'], 'offset'),
      'offset',
    ),
    bands: url.param<DistributionLayout>('dmode', choice(['bands', 'together'], 'bands'), 'bands'),
    /** Counts on a logarithmic scale. */
    logCounts: url.param('hlog', flag, false),
    /** Values of distributions on a logarithmic scale. */
    logValues: url.param('dlog', flag, false),
    bins: url.param('bins', binCountCodec, 60),
    ignoreOutliers: url.param('outliers', flag, true),
    zooms: url.param('hzoom', viewportsCodec, new Map()),
    /** How many runs the chart of a card passes over. */
    skips: url.param('hskip', skippedRunsCodec, new Map()),
    /** Cards that are shown as a table. */
    tables: url.param('htable', list, []),
  };
}

const binCountCodec: Codec<number> = {
  parse: (text) => BIN_COUNTS.find((count) => String(count) === text) ?? 60,
  format: String,
};

const skippedRunsCodec: Codec<PerCard<number>> = perCardCodec(
  1,
  ([text = '']) => Math.max(0, Math.round(number(0).parse(text))) || null,
  (skip) => [String(skip)],
);

export const viewportsCodec: Codec<PerCard<HistogramViewport>> = perCardCodec(
  4,
  (texts) => {
    const [steps, values] = [0, 2].map((at) => parseRange(texts[at], texts[at + 1]));
    return steps || values ? { steps: steps ?? null, values: values ?? null } : null;
  },
  ({ steps, values }) => [...formatRange(steps), ...formatRange(values)],
);

function parseRange(low = '', high = ''): NumberRange | null {
  const [from, to] = [low, high].map((text) => (text.trim() === '' ? NaN : Number(text)));
  if (from === undefined || to === undefined || !(from < to)) return null;
  return Number.isFinite(from) && Number.isFinite(to) ? [from, to] : null;
}

/** As a link needs it: no chart shows more digits. */
function formatRange(span: NumberRange | null): readonly string[] {
  return span ? span.map((end) => String(Number(end.toPrecision(12)))) : ['', ''];
}

type Options<Word> = readonly [readonly [Word, string], ...(readonly [Word, string])[]];

export const STYLE_OPTIONS: Options<HistogramStyle> = [
  ['offset', 'Offset'],
  ['overlay', 'Overlay'],
  ['heat', 'Heat map'],
];

export const LAYOUT_OPTIONS: Options<DistributionLayout> = [
  ['bands', 'Side by side'],
  ['together', 'Together'],
];

export const AXIS_OPTIONS: Options<HistogramAxis> = [
  ['step', 'Step'],
  ['relative', 'Relative'],
  ['wall', 'Wall'],
];

export function getOptionLabel<Word>(choices: Options<Word>, word: Word): string {
  return choices.find(([one]) => one === word)?.[1] ?? choices[0][1];
}

export function getOptionValue<Word>(choices: Options<Word>, name: string): Word {
  return choices.find(([, one]) => one === name)?.[0] ?? choices[0][0];
}
